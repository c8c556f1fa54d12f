"""list, get, put and delete of entries, as RFC 0113 has them: bodies, and the same as query parameters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.ingest import IDEMPOTENCY_KEY, Tag
from infinicon.api.wire.shared import (
    ContextWarning,
    Name,
    Time,
    check_name,
    check_text,
    optional_time,
    present,
    time_to_wire,
    warnings_to_wire,
)
from infinicon.api.wire.validate import Body, check, refused
from infinicon.errors import TooLarge

AnyRef = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "string",
            "description": "A memoryRef: bound to a scope, or else the name of a namespace. One that cannot be anybody's has no entries.",
        }
    ),
]
WholeNumber = Annotated[int, Field(ge=0, le=limits.TOKENS)]
DIGITS = re.compile(r"[0-9]{1,16}")


class ListRequest(Body):
    """Entries are atoms and consolidations that are active."""

    null_is_absent: ClassVar[bool] = False

    memory_ref: AnyRef
    limit: WholeNumber = 0
    """How many at most; 0: as many as there are, up to `entriesPerAnswer`."""
    tag: Annotated[str, AfterValidator(check_text)] | None = None
    """Only entries that have exactly this tag."""
    token_budget: WholeNumber = Field(None)  # type: ignore[assignment]  # absent is no value, and null is refused
    """What all entries together may count, in the unit `tokenCounter`. An entry that is larger on its own is omitted."""
    rank: Literal["recency", "relevance"] | None = None
    """`recency`, if absent: newest first. `relevance`: the order of query, for which `query` is needed."""
    query: Annotated[str, Field(max_length=limits.QUERY_CHARACTERS), AfterValidator(check_text)] | None = None
    """What relevance is about. Ignored where the rank is recency."""


class Entry(Body):
    id: str
    content: str
    tags: list[str]
    created_at: Time
    expires_at: Time | SkipJsonSchema[None] = None


class ListReply(Body):
    entries: list[Entry]
    tokens_used: int | SkipJsonSchema[None] = None
    """What the contents of these entries count; absent, like the next but one, where the host cannot count now."""
    oversized_omitted: int
    """Entries passed over because each is larger than the whole budget, before the answer ended; 1,000 means so many or more."""
    truncated: bool
    """Whether the budget, or `entriesPerAnswer`, cut the answer. The caller's own limit does not count as a cut."""
    token_counter: str | SkipJsonSchema[None] = None
    """`o200k_base`, `cl100k_base`, `chars` or `host-defined`."""


class GetEntryReply(Body):
    entry: Entry | None
    """null for an id or a memoryRef that is unknown, foreign or malformed, and for what is not active any more."""


class PutRequest(Body):
    memory_ref: Name
    """Bound to a scope, or else the name of a namespace, which is made if it is new."""
    content: Annotated[str, AfterValidator(check_text)]
    """At most 1 MiB in UTF-8. Kept word for word, but for known secrets."""
    tags: Annotated[list[Tag], Field(max_length=limits.TAGS)] | None = None
    expires_at: Time | None = None
    """From then on it is not found any more."""


class PutReply(Body):
    entry: Entry
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None
    """`already_expired`: its own expiresAt is past."""


class DeleteEntryReply(Body):
    status: Literal["tombstoned", "already_tombstoned", "not_found"]
    """`not_found` for an id or a memoryRef that is unknown, foreign or malformed."""


def parse_list(body: bytes) -> domain.ListRequest:
    """Read a request. Raises InvalidRequest."""
    return _list_request(check(ListRequest, strict_json.loads(body)))


def list_parameters(parameters: Mapping[str, str]) -> domain.ListRequest:
    """The same from query parameters. Raises InvalidRequest."""
    sent: dict[str, Any] = {
        name: parameters[name] for name in ("memoryRef", "tag", "rank", "query") if name in parameters
    }
    for name in ("limit", "tokenBudget"):
        if name in parameters:
            if not DIGITS.fullmatch(parameters[name]):
                raise refused(name, "must be a whole number in decimal digits")
            sent[name] = int(parameters[name])
    return _list_request(check(ListRequest, sent, "parameters"))


def _list_request(sent: ListRequest) -> domain.ListRequest:
    rank = domain.Rank(sent.rank or domain.Rank.RECENCY)
    if rank is domain.Rank.RELEVANCE and not (sent.query or "").strip():
        raise refused("query", "must be there, and not blank, where rank is relevance")
    budget: int | None = sent.token_budget
    return domain.ListRequest(read_ref(sent.memory_ref), sent.limit, sent.tag, budget, rank, sent.query or "")


def read_ref(sent: object) -> str | None:
    """A memoryRef that may be somebody's; None for any other. It is not refused, so that nothing is learnt from a refusal."""
    if not isinstance(sent, str) or not 0 < len(sent) <= limits.IDENTIFIER_CHARACTERS:
        return None
    try:
        return check_name(sent)
    except PydanticCustomError:
        return None


def parse_put(body: bytes, idempotency_key: str | None) -> domain.PutRequest:
    """Read a request.

    Raises:
        InvalidRequest: it breaks a rule.
        TooLarge: the content is over its limit.
    """
    if idempotency_key is not None and not IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        raise refused("Idempotency-Key", f"must be 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} visible ASCII characters")
    sent = check(PutRequest, strict_json.loads(body))
    if len(sent.content.encode()) > limits.CONTENT_BYTES:
        raise TooLarge(
            f"content must not be larger than {limits.CONTENT_BYTES} bytes",
            details={"field": "content", "limit": limits.CONTENT_BYTES},
        )
    return domain.PutRequest(
        sent.memory_ref,
        sent.content,
        sent.tags or (),
        sent.expires_at,
        idempotency_key,
        hashlib.sha256(body).digest(),
    )


def ref_parameter(parameters: Mapping[str, str]) -> str | None:
    """The memoryRef of a GET or DELETE. Raises InvalidRequest where there is none."""
    if "memoryRef" not in parameters:
        raise refused("memoryRef", "is required")
    return read_ref(parameters["memoryRef"])


def list_to_wire(reply: domain.ListReply) -> dict[str, Any]:
    return present(
        entries=[entry_to_wire(entry) for entry in reply.entries],
        tokensUsed=reply.tokens_used,
        oversizedOmitted=reply.oversized,
        truncated=reply.truncated,
        tokenCounter=reply.token_counter,
    )


def entry_to_wire(entry: domain.Entry) -> dict[str, Any]:
    return present(
        id=str(entry.id),
        content=entry.content,
        tags=list(entry.tags),
        createdAt=time_to_wire(entry.created_at),
        expiresAt=optional_time(entry.expires_at),
    )


def put_to_wire(reply: domain.PutReply) -> dict[str, Any]:
    return present(entry=entry_to_wire(reply.entry), warnings=warnings_to_wire(reply.warnings))


def get_to_wire(entry: domain.Entry | None) -> dict[str, Any]:
    return {"entry": None if entry is None else entry_to_wire(entry)}
