"""The OpenAPI document's part on entries, as RFC 0113 reads memory, and on what memoryRefs stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicon.api import limits
from infinicon.api.openapi_parts import SCOPE, WITH_BODY, operation, parameter
from infinicon.api.wire.bindings import (
    BINDINGS_MOST,
    BINDINGS_USUAL,
    BindingsReply,
    BindReply,
    BindRequest,
    UnbindReply,
)
from infinicon.api.wire.entries import (
    DeleteEntryReply,
    GetEntryReply,
    ListReply,
    ListRequest,
    PutReply,
    PutRequest,
)
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (
    ListRequest,
    ListReply,
    GetEntryReply,
    PutRequest,
    PutReply,
    DeleteEntryReply,
    BindRequest,
    BindReply,
    BindingsReply,
    UnbindReply,
)

WITHOUT_BODY = (400, 401, 403, 429, 500, 503)
REF = parameter(
    "memoryRef",
    "query",
    "Bound to a scope, or else the name of a namespace.",
    required=True,
    longest=limits.IDENTIFIER_CHARACTERS,
)
ID = parameter("id", "path", "The id of an entry.", required=True, longest=limits.IDENTIFIER_CHARACTERS)


def _number(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0, "maximum": limits.TOKENS}
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


LIST = operation(
    "listEntries",
    "The entries under a memoryRef, as many as a budget has room for",
    request=ListRequest,
    reply=ListReply,
    permission=Permission.HYDRATE,
    statuses=WITH_BODY,
    example={"memoryRef": "support", "tokenBudget": 800, "rank": "relevance", "query": "refund policy"},
)
READ_LIST = operation(
    "readEntries",
    "The entries under a memoryRef (the same answer as listEntries)",
    reply=ListReply,
    permission=Permission.HYDRATE,
    statuses=WITHOUT_BODY,
    parameters=[
        REF,
        _number("limit", "How many at most; 0: as many as there are."),
        parameter("tag", "query", "Only entries with exactly this tag.", required=False, longest=limits.TAG_CHARACTERS),
        _number("tokenBudget", "What all entries together may count."),
        {
            "name": "rank",
            "in": "query",
            "required": False,
            "description": "Newest first, or in the order of query.",
            "schema": {"type": "string", "enum": ["recency", "relevance"]},
        },
        parameter("query", "query", "What relevance is about.", required=False, longest=limits.QUERY_CHARACTERS),
    ],
)
PUT = operation(
    "putEntry",
    "Store an entry word for word; list shows it at once",
    request=PutRequest,
    reply=PutReply,
    permission=Permission.INGEST,
    statuses=(*WITH_BODY, 404, 422),
    example={"memoryRef": "support", "content": "Refunds take five working days.", "tags": ["policy"]},
    parameters=[
        parameter(
            "Idempotency-Key",
            "header",
            "Visible ASCII. The same key with the same body answers with the entry that it made; with another body it is a conflict.",
            required=False,
            longest=limits.IDEMPOTENCY_KEY_CHARACTERS,
        )
    ],
)
GET = operation(
    "getEntry",
    "One entry, as list shows it",
    reply=GetEntryReply,
    permission=Permission.HYDRATE,
    statuses=WITHOUT_BODY,
    parameters=[ID, REF],
)
DELETE = operation(
    "deleteEntry",
    "Tombstone an entry with what was derived from it; one of put goes with its episode",
    reply=DeleteEntryReply,
    permission=Permission.TOMBSTONE,
    statuses=WITHOUT_BODY,
    parameters=[ID, REF],
)
LIST_BINDINGS = operation(
    "listBindings",
    "The scopes for which memoryRefs stand",
    reply=BindingsReply,
    permission=Permission.ADMIN,
    statuses=WITHOUT_BODY,
    parameters=[
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "description": "How many at most.",
            "schema": {"type": "integer", "minimum": 1, "maximum": BINDINGS_MOST, "default": BINDINGS_USUAL},
        },
        parameter(
            "after",
            "query",
            "The last memoryRef of the page before.",
            required=False,
            longest=limits.IDENTIFIER_CHARACTERS,
        ),
    ],
)
BIND = operation(
    "bind",
    "Let a memoryRef stand for a scope",
    request=BindRequest,
    reply=BindReply,
    permission=Permission.ADMIN,
    statuses=WITH_BODY,
    example={"memoryRef": "mem:agent-7", "scope": {**SCOPE, "agentId": "agent-7"}},
)
UNBIND = operation(
    "unbind",
    "Let a memoryRef stand for the namespace of its name again",
    reply=UnbindReply,
    permission=Permission.ADMIN,
    statuses=WITHOUT_BODY,
    parameters=[REF],
)
