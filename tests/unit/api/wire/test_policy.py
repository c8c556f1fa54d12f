from __future__ import annotations

import json
from typing import Any

import pytest

from infinicon.api.wire import policy as wire
from infinicon.domain import Scope
from infinicon.errors import InvalidRequest

SCOPE = {"tenantId": "acme", "namespaceId": "home"}


def erase(scope: dict[str, Any] = SCOPE, **fields: Any) -> tuple[Scope, str, dict[str, Any] | None]:
    return wire.parse_erase(json.dumps({"scope": scope, "reason": "asked for", **fields}).encode())


@pytest.mark.parametrize(
    ("scope", "fields", "metadata"),
    [
        ({}, {"everything": True}, None),
        ({}, {"metadata": {"person": "p1"}}, {"person": "p1"}),
        ({"agentId": "a"}, {}, None),
        ({"sessionId": "s"}, {}, None),
        ({"filters": {"room": "r1"}}, {"everything": False}, None),
    ],
)
def test_an_extent_that_is_said(scope: dict[str, Any], fields: dict[str, Any], metadata: dict[str, Any] | None) -> None:
    assert erase({**SCOPE, **scope}, **fields)[2] == metadata


@pytest.mark.parametrize(
    ("scope", "fields", "field"),
    [
        ({}, {}, "everything"),
        ({"agentId": None}, {}, "everything"),
        ({"filters": {}}, {}, "everything"),
        ({}, {"everything": "yes"}, "everything"),
        ({"agentId": "a"}, {"everything": True}, "everything"),
        ({}, {"everything": True, "metadata": {"person": "p1"}}, "everything"),
        ({}, {"everything": True, "metadata": None}, "metadata"),
        ({}, {"everything": True, "metadata": {}}, "metadata"),
        ({}, {"everything": True, "metdata": {"person": "p1"}}, "body"),
        ({"agentid": "a"}, {"everything": True}, "scope"),
    ],
)
def test_a_narrower_wish_that_is_misspelt_does_not_erase_everything(
    scope: dict[str, Any], fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        erase({**SCOPE, **scope}, **fields)
    assert refusal.value.details["field"] == field
    assert not {"metdata", "agentid"} & set(json.dumps(refusal.value.to_wire()).split('"'))


def test_a_policy_knows_its_members() -> None:
    with pytest.raises(InvalidRequest):
        wire.parse_policy(json.dumps({"scope": SCOPE, "policy": {"auditSeconds": 1, "auditsecond": 0}}).encode())
