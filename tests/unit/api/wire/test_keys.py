from __future__ import annotations

import json
from typing import Any

import pytest

from infinicon.api.wire import keys as wire
from infinicon.domain import NewKey, Permission
from infinicon.errors import InvalidRequest


def parse(**fields: Any) -> tuple[str, NewKey]:
    return wire.parse_create(json.dumps({"tenantId": "acme", **fields}).encode())


def test_a_key_without_wishes_is_neither_admin_nor_auditor() -> None:
    tenant, wanted = parse()

    assert tenant == "acme"
    assert wanted == NewKey(frozenset(Permission) - {Permission.ADMIN, Permission.AUDIT})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tenantId": ""}, "tenantId"),
        ({"namespace": ["home"]}, "body"),
        ({"permissions": []}, "permissions"),
        ({"permissions": ["root"]}, "permissions.0"),
        ({"permissions": "query"}, "permissions"),
        ({"namespaces": []}, "namespaces"),
        ({"namespaces": ["a", "\x00"]}, "namespaces.1"),
        ({"namespaces": ["a"] * 1001}, "namespaces"),
        ({"label": ""}, "label"),
        ({"label": "\x00"}, "label"),
        ({"expiresAt": "2026-11-30T10:00:00"}, "expiresAt"),
    ],
)
def test_what_makes_no_key(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)

    assert caught.value.details["field"] == field


@pytest.mark.parametrize("overlap", [-1, 1e9, "60", True])
def test_an_overlap_has_bounds(overlap: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_rotate(json.dumps({"tenantId": "acme", "overlapSeconds": overlap}).encode())

    assert caught.value.details["field"] == "overlapSeconds"


def test_an_overlap_is_a_day_unless_given() -> None:
    assert wire.parse_rotate(b'{"tenantId": "acme"}') == ("acme", 86400.0)
    assert wire.parse_rotate(b'{"tenantId": "acme", "overlapSeconds": 0}') == ("acme", 0.0)
