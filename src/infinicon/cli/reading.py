"""What the reading commands ask and how they show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import WrongUsage
from infinicon.cli.output import clipped, note, show_json, table, visible

TYPES = ("episode", "atom", "consolidation", "link")
PREVIEW = 160


MARKS = {"disputed_memory_included": "disputed", "superseded_memory_included": "superseded"}
"""What a hit's warning is called where it stands beside the hit."""


def query(client: Client, body: Wire, *, refs_only: bool, as_json: bool) -> None:
    """Ranked memories for a question: with their content, unless only refs are wanted."""
    reply = client.post("/v0/query", body)
    hits: list[Wire] = reply["refs"]
    if refs_only and as_json:
        show_json(reply)
        return
    objects = {} if refs_only else _load(client, body["scope"], [hit["ref"] for hit in hits])
    if as_json:
        show_json({**reply, "refs": [{**hit, "object": objects.get(hit["ref"]["id"])} for hit in hits]})
        return
    for warning in reply.get("warnings", ()):
        # What stands beside the hits it is about is not said once more.
        if warning["code"] not in MARKS:
            note(f"warning: {warning['message']}")
    if not hits:
        note("nothing found")
    for rank, hit in enumerate(hits, 1):
        ref = hit["ref"]
        marks = "".join(f"  {MARKS.get(warning['code'], warning['code'])}" for warning in hit.get("warnings", ()))
        print(f"{rank:>3}  {hit['score']:.3f}  {ref['type']} {ref['id']}{marks}")
        if ref["id"] in objects:
            _preview(objects[ref["id"]])


def _preview(found: Wire) -> None:
    when = found.get("occurredAt") or found["createdAt"]
    print(f"     [{visible(found['createdBy']['id'])}, {when}] {clipped(_text(found), PREVIEW)}")


def _text(found: Wire) -> str:
    content = found.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _load(client: Client, scope: Wire, refs: Sequence[Wire]) -> dict[str, Wire]:
    if not refs:
        return {}
    reply = client.post("/v0/hydrate", {"scope": scope, "refs": list(refs), "includeProvenance": True})
    return {found["id"]: found for found in reply["objects"]}


def hydrate(client: Client, scope: Wire, ids: Sequence[str], *, as_json: bool) -> None:
    """Whole objects. An id alone is asked for as every type that a query returns; ids are unique, so one at most exists."""
    refs = [ref for given in ids for ref in refs_of(given, scope, TYPES)]
    reply = client.post("/v0/hydrate", {"scope": scope, "refs": refs, "includeProvenance": True})
    found = {item["id"] for item in reply["objects"]}
    missing = [given for given in ids if given.rpartition(":")[2].lower() not in found]
    if as_json:
        show_json({"objects": reply["objects"], "missing": missing})
    else:
        for item in reply["objects"]:
            _whole(item)
    if missing:
        note(f"not found: {', '.join(visible(given) for given in missing)}")
        sys.exit(exits.NOT_FOUND)


def refs_of(given: str, scope: Wire, types: Sequence[str]) -> list[Wire]:
    """TYPE:ID as one ref; an id alone as one of each type, since ids are unique. Raises WrongUsage."""
    kind, colon, identifier = given.rpartition(":")
    if colon and kind not in types:
        raise WrongUsage(f"{kind} is no type of memory", f"one of {', '.join(types)}, or the id alone")
    return [{"id": identifier, "type": name, "scope": scope} for name in ((kind,) if colon else types)]


def _whole(item: Wire) -> None:
    print(f"{item['type']} {item['id']}  {item['status']}")
    rows = [
        ("scope", " / ".join(str(part) for name, part in item["scope"].items() if name != "filters")),
        ("by", f"{item['createdBy']['id']} ({item['createdBy']['kind']})"),
        ("occurred", item.get("occurredAt")),
        ("created", item["createdAt"]),
        ("tags", ", ".join(item.get("tags") or ())),
        ("metadata", json.dumps(item["metadata"], ensure_ascii=False) if item.get("metadata") else None),
    ]
    for name, value in rows:
        if value:
            print(f"  {name:<10}{visible(str(value))}")
    for source in (item.get("provenance") or {}).get("sourceRefs", ()):
        print(f"  {'from':<10}{source['type']} {source['id']}")
    print("\n".join(f"  | {visible(line)}" for line in _text(item).split("\n")))
    print()


def namespaces(client: Client, *, as_json: bool) -> None:
    """All namespaces of the key, page by page."""
    found: list[Wire] = []
    cursor = ""
    while True:
        reply = client.get("/v0/namespaces", {"tenantId": client.tenant_id, **({"cursor": cursor} if cursor else {})})
        found += reply["namespaces"]
        cursor = reply.get("cursor", "")
        if not cursor:
            break
    if as_json:
        show_json({"namespaces": found})
    elif found:
        table(("namespace", "created"), [(item["namespaceId"], item["createdAt"]) for item in found])
    else:
        note("no namespace yet: the first ingest makes one")


def stats(client: Client, scope: Wire, *, as_json: bool) -> None:
    """Counts of one namespace."""
    reply = client.get("/v0/stats", {name: scope[name] for name in ("tenantId", "namespaceId")})
    if as_json:
        show_json(reply)
        return
    rows = [
        (f"{kind} {status}", number)
        for kind, by_status in reply["memories"].items()
        for status, number in by_status.items()
    ]
    rows += [(f"episodes {state}", number) for state, number in reply["pipeline"].items()]
    rows += [(f"jobs {status}", number) for status, number in reply["jobs"].items()]
    rows += [("index rows", reply["index"]["rows"]), ("events", reply["events"])]
    table(("what", "number"), rows)
