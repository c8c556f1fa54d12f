"""A namespace's policy on the wire, and erasures, which need no refs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.shared import JsonObject, Scope, scope_of
from infinicon.api.wire.tombstone import check_reason
from infinicon.api.wire.validate import Body, check, refused, rule, storable_size
from infinicon.operations import crontab

LONGEST_SECONDS = 100 * 366 * 24 * 3600 // 2  # fits an integer of Postgres
Seconds = Annotated[int, Field(ge=1, le=LONGEST_SECONDS)]


WidthName = Literal["session", "agent", "namespace"]


def check_schedule(value: object) -> object:
    """Before the union's own check, which would name its members and not the rule."""
    if isinstance(value, str):
        try:
            crontab.bits(value)
        except ValueError as fault:
            raise PydanticCustomError("rule", "is no crontab: {fault}", {"fault": str(fault)}) from None
        return " ".join(value.split())
    if value is not None and (type(value) is not int or not 1 <= value <= LONGEST_SECONDS):
        raise rule("must be a crontab, or a number of seconds of at least 1")
    return value


Schedule = Annotated[str | Seconds | None, BeforeValidator(check_schedule)]


class PolicyChange(Body):
    """Members that are absent stay as they are; null gives a member back to the house's setting. Unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    audit_seconds: Annotated[int, Field(ge=0, le=LONGEST_SECONDS)] = 0
    """How long tombstoned content is kept, for keys with the permission audit alone; 0: it is gone at once. A shorter time
    holds for what is kept already, a longer one does not."""
    default_expiry_seconds: Seconds | None = None
    """Of episodes that bring no expiresAt, from their ingest on."""
    job_retention_seconds: Seconds | None = None
    """Of jobs that are over."""
    event_retention_seconds: Seconds | None = None
    consolidation_width: WidthName = "agent"
    """Within what consolidations stay: one session, one agent across its sessions, or the whole namespace."""
    consolidation_schedule: Schedule = None
    """When what waits is consolidated: a crontab of five fields, or a number of seconds, whose multiples since 1970 are meant. Both are in
    UTC. null: not by a schedule."""
    consolidation_threshold: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """So many atoms that wait in one scope start a consolidation. null: not by their number."""
    consolidation_max_age_seconds: Seconds | None = None
    """What has waited for so long starts a consolidation, however few they are. null: a day where there is a threshold, else never."""
    consolidation_idle_seconds: Seconds | None = None
    """So long without a new atom in a scope in which some wait starts a consolidation. null: not for that reason."""
    redact_credentials: bool = False
    """Whether what looks like a credential is replaced by `[REDACTED:<rule>]` in all that is written from now on."""


class PolicyRequest(Body):
    scope: Scope
    """Of a whole namespace: agentId, sessionId and filters must be absent."""
    policy: PolicyChange


class Policy(Body):
    audit_seconds: int
    default_expiry_seconds: int | SkipJsonSchema[None] = None
    job_retention_seconds: int | SkipJsonSchema[None] = None
    event_retention_seconds: int | SkipJsonSchema[None] = None
    consolidation_width: WidthName
    consolidation_schedule: str | int | SkipJsonSchema[None] = None
    consolidation_threshold: int | SkipJsonSchema[None] = None
    consolidation_max_age_seconds: int | SkipJsonSchema[None] = None
    consolidation_idle_seconds: int | SkipJsonSchema[None] = None
    redact_credentials: bool


class PolicyReply(Body):
    policy: Policy


def check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    size = storable_size(value)
    if size is None or size > limits.METADATA_BYTES:
        raise rule("must be storable and have at most 16 KiB as compact JSON")
    if not value:
        raise rule("must not be empty")
    return value


class ErasedScope(Scope):
    """A scope that takes no unknown members."""

    model_config = ConfigDict(extra="forbid")


class EraseRequest(Body):
    """Members that are not known here are refused, also in the scope: one that was passed over would erase more than was meant."""

    model_config = ConfigDict(extra="forbid")

    scope: ErasedScope
    """agentId, sessionId and filters narrow it."""
    reason: Annotated[str, Field(min_length=1, max_length=limits.REASON_CHARACTERS), AfterValidator(check_reason)]
    """Kept with the tombstones, so it must not repeat what is erased."""
    metadata: Annotated[JsonObject, AfterValidator(check_metadata)] = Field(None)  # type: ignore[arg-type]  # null is refused
    """Only episodes whose metadata contains this, and what was derived from them. Absent: everything of the scope; null and {} are
    refused."""
    everything: bool = False
    """Must be true where nothing narrows the erasure (agentId, sessionId, filters, metadata): the whole namespace goes. And only there."""


def parse_policy(body: bytes) -> tuple[domain.Scope, dict[str, int | str | None]]:
    """A scope and the members of its policy to change. Raises InvalidRequest."""
    sent = check(PolicyRequest, strict_json.loads(body))
    changes = {name: getattr(sent.policy, name) for name in sent.policy.model_fields_set}
    if not changes:
        raise refused("policy", "must change something")
    if "consolidation_width" in changes:
        changes["consolidation_width"] = domain.Width(changes["consolidation_width"])
    return scope_of(sent.scope), changes


def policy_to_wire(policy: domain.Policy) -> dict[str, Any]:
    members = {
        "auditSeconds": policy.audit_seconds,
        "defaultExpirySeconds": policy.default_expiry_seconds,
        "jobRetentionSeconds": policy.job_retention_seconds,
        "eventRetentionSeconds": policy.event_retention_seconds,
        "consolidationWidth": policy.consolidation_width.value,
        "consolidationSchedule": policy.consolidation_schedule,
        "consolidationThreshold": policy.consolidation_threshold,
        "consolidationMaxAgeSeconds": policy.consolidation_max_age_seconds,
        "consolidationIdleSeconds": policy.consolidation_idle_seconds,
        "redactCredentials": policy.redact_credentials,
    }
    return {"policy": {name: value for name, value in members.items() if value is not None}}


def parse_erase(body: bytes) -> tuple[domain.Scope, str, dict[str, Any] | None]:
    """A scope, a reason, and the metadata to look for. Raises InvalidRequest."""
    sent = check(EraseRequest, strict_json.loads(body))
    metadata: dict[str, Any] | None = sent.metadata
    narrowed = bool(sent.scope.agent_id or sent.scope.session_id or sent.scope.filters or metadata)
    if not narrowed and not sent.everything:
        raise refused("everything", "must be true where agentId, sessionId, filters and metadata are absent")
    if narrowed and sent.everything:
        raise refused("everything", "must be false where agentId, sessionId, filters or metadata narrow the erasure")
    return scope_of(sent.scope), sent.reason, metadata
