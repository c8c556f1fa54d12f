"""What the commands of corrections ask and how they show it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.output import note, show_json, visible
from infinicon.cli.reading import refs_of

DISPUTABLE = ("episode", "atom", "consolidation")


def dispute(client: Client, scope: Wire, first: str, second: str, *, as_json: bool) -> None:
    """Say that two memories contradict each other; exit 5 where one is not there."""
    refs = _refs(client, scope, [first, second])
    _show(client.post("/v0/dispute", {"scope": scope, "refs": refs}), as_json=as_json)


def resolve(client: Client, scope: Wire, given: Sequence[str], holds: str | None, *, as_json: bool) -> None:
    """Settle contradictions; exit 5 where a memory is not there."""
    refs = _refs(client, scope, [*given, *([] if holds is None else [holds])])
    winner = {} if holds is None else {"holds": refs.pop()}
    _show(client.post("/v0/resolve", {"scope": scope, "refs": refs, **winner}), as_json=as_json)


def _refs(client: Client, scope: Wire, given: Sequence[str]) -> list[Wire]:
    """One ref for each of them. An id alone is looked up, since its type is needed."""
    asked = {name: refs_of(name, scope, DISPUTABLE) for name in given}
    unclear = [ref for refs in asked.values() if len(refs) > 1 for ref in refs]
    there = client.post("/v0/hydrate", {"scope": scope, "refs": unclear})["objects"] if unclear else []
    types = {found["id"]: found["type"] for found in there}
    clear = {
        name: refs[0] if len(refs) == 1 else next((ref for ref in refs if types.get(ref["id"]) == ref["type"]), None)
        for name, refs in asked.items()
    }
    missing = [name for name, ref in clear.items() if ref is None]
    if missing:
        note(f"not found: {', '.join(visible(name) for name in missing)}")
        sys.exit(exits.NOT_FOUND)
    return [ref for name in given if (ref := clear[name]) is not None]


def _show(reply: Wire, *, as_json: bool) -> None:
    if as_json:
        show_json(reply)
        return
    for result in reply["results"]:
        print(f"{result['status']:<11} {result['ref']['type']} {result['ref']['id']}")
        for link in result.get("related", ()):
            print(f"            {link['linkType']} {link['from']['id']} -> {link['to']['id']}  {link['status']}")
