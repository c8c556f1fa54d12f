"""What `infinicon memory` and `infinicon bindings` ask and how they show it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import WrongUsage
from infinicon.cli.key_management import moment, segment
from infinicon.cli.output import note, show_json, table, visible


def listed(
    client: Client,
    ref: str,
    *,
    budget: int | None,
    limit: int,
    tag: str | None,
    query: str | None,
    as_json: bool,
) -> None:
    """Entries that fit, and what the answer says of itself. Raises WrongUsage where the query is blank."""
    if query is not None and not query.strip():
        raise WrongUsage("the query is blank", "say what --query is about, or leave it out: then the newest come first")
    optional: Wire = {"tokenBudget": budget, "tag": tag, "query": query, "rank": None if query is None else "relevance"}
    given = {name: value for name, value in optional.items() if value is not None}
    reply = client.post("/v0/memory/list", {"memoryRef": ref, "limit": limit, **given})
    if as_json:
        show_json(reply)
        return
    for entry in reply["entries"]:
        _show(entry)
    used = f", {reply['tokensUsed']} {reply['tokenCounter']}" if "tokenCounter" in reply else ""
    omitted = f", {reply['oversizedOmitted']} too large for the budget" if reply["oversizedOmitted"] else ""
    note(f"{len(reply['entries'])} entries{used}{omitted}{', there are more' if reply['truncated'] else ''}")


def _show(entry: Wire) -> None:
    tags = f"  {visible(', '.join(entry['tags']))}" if entry["tags"] else ""
    expires = f"  until {entry['expiresAt']}" if "expiresAt" in entry else ""
    print(f"{entry['id']}  {entry['createdAt']}{expires}{tags}")
    print("\n".join(f"  | {visible(line)}" for line in entry["content"].split("\n")))


def put(client: Client, ref: str, content: str, tags: Sequence[str], expires: str | None, *, as_json: bool) -> None:
    """The new entry, or for people its id."""
    text = sys.stdin.read() if content == "-" else content
    body: Wire = {"memoryRef": ref, "content": text, "tags": list(tags)}
    if expires is not None:
        body["expiresAt"] = moment(expires)
    reply = client.post("/v0/memory/put", body)
    if as_json:
        show_json(reply)
    else:
        print(reply["entry"]["id"])
        for warning in reply.get("warnings", ()):
            note(f"warning: {warning['message']}")


def get(client: Client, ref: str, entry: str, *, as_json: bool) -> None:
    """One entry, or exit code 5."""
    reply = client.get(_path(entry), {"memoryRef": ref})
    if as_json:
        show_json(reply)
    elif reply["entry"] is not None:
        _show(reply["entry"])
    _missing(reply["entry"] is None, "there is no such entry")


def delete(client: Client, ref: str, entry: str, *, as_json: bool) -> None:
    """What became of it, or exit code 5."""
    reply = client.delete(_path(entry), {"memoryRef": ref})
    if as_json:
        show_json(reply)
    elif reply["status"] != "not_found":
        print(reply["status"])
    _missing(reply["status"] == "not_found", "there is no such entry")


def bindings(client: Client, *, as_json: bool) -> None:
    """All bindings that the key may see, page by page."""
    found: list[Wire] = []
    more = True
    while more:
        after = {"after": found[-1]["memoryRef"]} if found else {}
        reply = client.get("/v0/memory/bindings", {"limit": 1_000, **after})
        found += reply["bindings"]
        more = reply["more"]
    if as_json:
        show_json({"bindings": found})
    elif found:
        scopes = [(one["memoryRef"], one["scope"]) for one in found]
        rows = [(ref, own["namespaceId"], own.get("agentId", ""), own.get("sessionId", "")) for ref, own in scopes]
        table(("memoryRef", "namespace", "agent", "session"), rows)
    else:
        note("nothing is bound: every memoryRef stands for the namespace of its name")


def bind(client: Client, ref: str, scope: Wire, *, as_json: bool) -> None:
    """Let it stand for the scope."""
    reply = client.put("/v0/memory/bindings", {"memoryRef": ref, "scope": scope})
    if as_json:
        show_json(reply)


def unbind(client: Client, ref: str, *, as_json: bool) -> None:
    """Let it stand for its namespace again, or exit code 5."""
    reply = client.delete("/v0/memory/bindings", {"memoryRef": ref})
    if as_json:
        show_json(reply)
    _missing(not reply["deleted"], "it was not bound")


def _path(entry: str) -> str:
    return f"/v0/memory/entries/{segment(entry)}"


def _missing(missing: bool, said: str) -> None:
    if missing:
        note(said)
        sys.exit(exits.NOT_FOUND)
