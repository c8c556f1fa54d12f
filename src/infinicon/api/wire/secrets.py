"""Secrets on the wire: their values travel in, and never out."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.shared import Name, Time, check_text, time_to_wire
from infinicon.api.wire.validate import Body, check, rule

_MARKER = re.compile(r"\[REDACTED:[^\[\]\s]+\]")


def check_value(value: str) -> str:
    check_text(value)
    if len(value) < limits.SECRET_CHARACTERS_LEAST:
        raise rule("must have at least 8 characters: shorter ones are not redacted")
    if not value.strip():
        raise rule("must not be blank")
    if _MARKER.search(value):
        raise rule("must not hold a marker of a redaction")
    return value


class AddSecretRequest(Body):
    tenant_id: Name
    value: Annotated[str, Field(min_length=1, max_length=limits.SECRET_CHARACTERS), AfterValidator(check_value)]
    """What is to be redacted, to the letter. Nothing ever answers with it."""


class RedactRequest(Body):
    tenant_id: Name
    secret_id: Annotated[str, Field(max_length=limits.IDENTIFIER_CHARACTERS), AfterValidator(check_text)]
    """From the list of secrets."""


class Secret(Body):
    secret_id: str
    """What the marker `[REDACTED:<secretId>]` names."""
    created_at: Time


class SecretReply(Body):
    secret: Secret


class SecretsReply(Body):
    secrets: list[Secret]


def parse_add(body: bytes) -> tuple[str, str]:
    """The tenant and the value. Raises InvalidRequest."""
    sent = check(AddSecretRequest, strict_json.loads(body))
    return sent.tenant_id, sent.value


def parse_redact(body: bytes) -> tuple[str, str]:
    """The tenant and the secret's id. Raises InvalidRequest."""
    sent = check(RedactRequest, strict_json.loads(body))
    return sent.tenant_id, sent.secret_id


def to_wire(secret: domain.Secret) -> dict[str, Any]:
    return {"secretId": str(secret.id), "createdAt": time_to_wire(secret.created_at)}
