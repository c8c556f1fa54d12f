"""Secrets on the wire."""

from __future__ import annotations

import json

import pytest

from infinicon.api.wire.secrets import parse_add, parse_redact
from infinicon.errors import InvalidRequest


def test_a_value_is_taken_to_the_letter() -> None:
    value = " 8 chars\n"
    assert parse_add(json.dumps({"tenantId": "acme", "value": value}).encode()) == ("acme", value)
    assert parse_add(json.dumps({"tenantId": "acme", "value": "x" * 8192}).encode()) == ("acme", "x" * 8192)
    assert parse_redact(b'{"tenantId": "acme", "secretId": "s"}') == ("acme", "s")


@pytest.mark.parametrize(
    "value",
    ["", "CANARY7", "        ", "x" * 8193, "CANARY77\0", "\ud800CANARY77", "a [REDACTED:CANARY77] b", 12345678, None],
)
def test_what_would_not_be_redacted_is_refused_without_an_echo(value: object) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_add(json.dumps({"tenantId": "acme", "value": value}).encode())
    assert refusal.value.details["field"] == "value"
    assert "CANARY7" not in f"{refusal.value.message} {refusal.value.details}"
