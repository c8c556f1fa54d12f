"""API keys on the wire. A key itself travels once, in the answer that makes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.shared import Name, Time, check_text, optional_time, present, time_to_wire
from infinicon.api.wire.validate import Body, check
from infinicon.domain import Permission

PermissionName = Literal[
    "ingest", "query", "hydrate", "assemble", "consolidate", "tombstone", "subscribe", "jobs", "audit", "admin"
]
Label = Annotated[str, Field(min_length=1, max_length=limits.LABEL_CHARACTERS), AfterValidator(check_text)]
OVERLAP_SECONDS = 24 * 3600.0
LONGEST_OVERLAP_SECONDS = 30 * 24 * 3600.0


class CreateKeyRequest(Body):
    """Members that are not known here are refused: a bound that was passed over would make a key that may do more."""

    model_config = ConfigDict(extra="forbid")

    tenant_id: Name
    permissions: Annotated[list[PermissionName], Field(min_length=1, max_length=10)] | None = None
    """Absent: all but audit and admin. Only a key with audit gives it away."""
    namespaces: Annotated[list[Name], Field(min_length=1, max_length=limits.KEY_NAMESPACES)] | None = None
    """Absent: all namespaces of the tenant, also later ones."""
    label: Label | None = None
    expires_at: Time | None = None
    """In the future."""


class RevokeKeyRequest(Body):
    tenant_id: Name


class RotateKeyRequest(Body):
    tenant_id: Name
    overlap_seconds: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_SECONDS)] = OVERLAP_SECONDS
    """How long the old key goes on working; a day unless given."""


class ApiKey(Body):
    key_id: str
    permissions: list[PermissionName]
    namespaces: list[str] | SkipJsonSchema[None] = None
    label: str | SkipJsonSchema[None] = None
    created_at: Time
    expires_at: Time | SkipJsonSchema[None] = None
    revoked_at: Time | SkipJsonSchema[None] = None


class OwnKey(ApiKey):
    tenant_id: str


class KeysReply(Body):
    keys: list[ApiKey]


class KeyReply(Body):
    key: ApiKey


class NewKeyReply(Body):
    key: ApiKey
    api_key: str
    """What the holder sends as `Authorization: Bearer …`. It is not kept: it can be read here only."""


USUAL = frozenset(Permission) - {Permission.AUDIT, Permission.ADMIN}


def parse_create(body: bytes) -> tuple[str, domain.NewKey]:
    """The tenant and the key that is wanted. Raises InvalidRequest."""
    sent = check(CreateKeyRequest, strict_json.loads(body))
    permissions = USUAL if sent.permissions is None else frozenset(Permission(name) for name in sent.permissions)
    return sent.tenant_id, domain.NewKey(permissions, sent.namespaces, sent.label, sent.expires_at)


def parse_revoke(body: bytes) -> str:
    """The tenant. Raises InvalidRequest."""
    return check(RevokeKeyRequest, strict_json.loads(body)).tenant_id


def parse_rotate(body: bytes) -> tuple[str, float]:
    """The tenant, and the seconds for which both keys work. Raises InvalidRequest."""
    sent = check(RotateKeyRequest, strict_json.loads(body))
    return sent.tenant_id, sent.overlap_seconds


def to_wire(key: domain.Key) -> dict[str, Any]:
    return present(
        keyId=str(key.id),
        permissions=sorted(key.permissions),
        namespaces=None if key.namespaces is None else list(key.namespaces),
        label=key.label,
        createdAt=time_to_wire(key.created_at),
        expiresAt=optional_time(key.expires_at),
        revokedAt=optional_time(key.revoked_at),
    )
