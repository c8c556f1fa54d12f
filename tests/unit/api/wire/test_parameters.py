from __future__ import annotations

import pytest

from infinicon.api.wire import parameters
from infinicon.domain import Scope
from infinicon.errors import InvalidRequest

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


def test_a_scope_and_a_tenant() -> None:
    assert parameters.scope({**SCOPE, "agentId": "a", "colour": "x"}) == Scope("acme", "notes", "a")
    assert parameters.tenant(SCOPE) == "acme"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "tenantId"),
        ({"tenantId": "acme"}, "namespaceId"),
        ({**SCOPE, "sessionId": ""}, "sessionId"),
        ({**SCOPE, "namespaceId": "a\x00"}, "namespaceId"),
        ({**SCOPE, "filters": "{}"}, "filters"),
    ],
)
def test_a_broken_scope_names_its_field(sent: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parameters.scope(sent)

    assert caught.value.details["field"] == field


@pytest.mark.parametrize(("sent", "read"), [({}, 5), ({"limit": "1"}, 1), ({"limit": "10"}, 10)])
def test_a_limit(sent: dict[str, str], read: int) -> None:
    assert parameters.limit(sent, usual=5, most=10) == read


@pytest.mark.parametrize("sent", ["", "0", "11", "-1", "1.0", "1e1", " 1", "١", "NaN", "1" * 5000, "true"])
def test_what_is_no_limit(sent: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parameters.limit({"limit": sent}, usual=5, most=10)

    assert caught.value.details["field"] == "limit"


def test_a_cursor_is_taken_as_it_is_but_not_at_any_length() -> None:
    assert parameters.cursor({}) is None
    assert parameters.cursor({"cursor": ""}) == ""
    assert len(parameters.cursor({"cursor": "x" * 10**6}) or "") < 2000
