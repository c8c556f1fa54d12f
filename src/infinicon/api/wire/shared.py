"""The shapes that several verbs share: scope, refs, actors, times, warnings, errors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits
from infinicon.api.wire.validate import Body, is_storable, rule, storable_size
from infinicon.errors import Detail

RFC_3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)


def check_name(value: str) -> str:
    if not value.strip():
        raise rule("must not be blank")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise rule("must not hold control characters or lone surrogates")
    return value


def check_text(value: str) -> str:
    if not is_storable(value):
        raise rule("must not hold NUL or lone surrogates")
    return value


def parse_time(value: object) -> datetime:
    """RFC 3339 with a zone, years 0001 to 9999 in UTC as well; digits beyond microseconds are cut."""
    match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise rule("must be an RFC 3339 time with a zone")
    *parts, fraction, zulu, sign, hours, minutes = match.groups()
    offset = timedelta() if zulu else timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    try:
        year, month, day, hour, minute, second = map(int, parts)
        microsecond = int((fraction or "")[:6].ljust(6, "0"))
        local = datetime(year, month, day, hour, minute, second, microsecond, timezone(offset))
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        raise rule("must be a time of the years 0001 to 9999, in UTC as well") from None


def check_scope_filters(value: dict[str, Any]) -> dict[str, Any]:
    size = storable_size(value)
    if size is None:
        raise rule("must not hold NUL or lone surrogates")
    if size > limits.SCOPE_FILTERS_BYTES:
        raise rule("must have at most 16 KiB as compact JSON")
    return value


Name = Annotated[str, Field(min_length=1, max_length=limits.IDENTIFIER_CHARACTERS), AfterValidator(check_name)]
Time = Annotated[
    datetime,
    BeforeValidator(parse_time),
    WithJsonSchema({"type": "string", "format": "date-time", "description": "RFC 3339 with a zone."}),
]
JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]


class Scope(Body):
    """Where memory belongs. agentId and sessionId narrow a scope only where they are given."""

    tenant_id: Name
    """The key's own."""
    namespace_id: Name
    """A memory of its own; the first ingest makes it."""
    agent_id: Name | None = None
    """Whose memory, within the namespace."""
    session_id: Name | None = None
    """Of which conversation or run."""
    filters: Annotated[dict[str, Any], AfterValidator(check_scope_filters)] | None = None
    """Stored with what is ingested, and matched by JSON containment."""


class ActorRef(Body):
    """Who made something."""

    id: Name
    """A name of the caller's choice."""
    kind: Literal["user", "agent", "system", "plugin"]


class MemoryRef(Body):
    """Names a memory without its content."""

    id: Annotated[str, Field(max_length=limits.IDENTIFIER_CHARACTERS), AfterValidator(check_text)]
    """A UUID in canonical form; anything else leads nowhere."""
    type: Literal["episode", "atom", "consolidation", "link"]
    scope: Scope
    """The memory's own tenant, namespace, agent and session. Answers give no filters here, and take none into account: the object has
    them, and the request's scope narrows by them."""


class MemoryApiError(Body):
    """What went wrong. It never repeats what the caller sent."""

    code: str
    """Stable: for programs."""
    message: str
    """For people; it may change."""
    retryable: bool
    """Whether the same request may succeed later."""
    details: JsonObject | SkipJsonSchema[None] = None
    """Fields, rules and limits that it is about."""


class ContextWarning(Body):
    """Something that the caller should know about an answer that is otherwise good."""

    code: str
    """Stable: for programs."""
    message: str
    """For people; it may change."""
    refs: list[MemoryRef] | SkipJsonSchema[None] = None
    """The memories that it is about."""
    metadata: JsonObject | SkipJsonSchema[None] = None
    """More for programs: of `required_ref_omitted` the `reason`."""


def scope_of(body: Scope) -> domain.Scope:
    return domain.Scope(body.tenant_id, body.namespace_id, body.agent_id, body.session_id, body.filters)


def actor_of(body: ActorRef) -> domain.ActorRef:
    return domain.ActorRef(body.id, body.kind)


def scope_to_wire(scope: domain.Scope) -> dict[str, Any]:
    return present(
        tenantId=scope.tenant_id,
        namespaceId=scope.namespace_id,
        agentId=scope.agent_id,
        sessionId=scope.session_id,
        filters=None if scope.filters is None else dict(scope.filters),
    )


def ref_to_wire(ref: domain.MemoryRef) -> dict[str, Any]:
    """The same at every door: its filters are the object's, and not needed to name it."""
    scope = scope_to_wire(replace(ref.scope, filters=None))
    return {"id": str(ref.id), "type": ref.type.value, "scope": scope}


def actor_to_wire(actor: domain.ActorRef) -> dict[str, Any]:
    return {"id": actor.id, "kind": actor.kind}


def fault_to_wire(fault: domain.Fault) -> dict[str, Detail]:
    wire: dict[str, Detail] = {"code": fault.code, "message": fault.message, "retryable": fault.retryable}
    if fault.details:
        wire["details"] = dict(fault.details)
    return wire


def warnings_to_wire(warnings: Sequence[domain.ContextWarning]) -> list[dict[str, Any]] | None:
    """None where there are none: the field is left out."""
    return [
        present(
            code=warning.code,
            message=warning.message,
            refs=[ref_to_wire(ref) for ref in warning.refs] or None,
            metadata=dict(warning.metadata) or None,
        )
        for warning in warnings
    ] or None


def time_to_wire(moment: datetime) -> str:
    """UTC with Z. Years before 1000 keep their four digits, which strftime would not promise."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def optional_time(moment: datetime | None) -> str | None:
    return None if moment is None else time_to_wire(moment)


def present(**members: Any) -> dict[str, Any]:
    """An object of the members that are there; None means absent. Never for content, where null is a value."""
    return {name: value for name, value in members.items() if value is not None}
