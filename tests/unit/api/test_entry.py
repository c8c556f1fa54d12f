from __future__ import annotations

import pytest
from starlette.datastructures import Headers, QueryParams

from infinicon.api.entry import bearer_token, check_once
from infinicon.errors import InvalidRequest, Unauthorized


@pytest.mark.parametrize("value", ["Bearer inf_abc", "bearer inf_abc", "BEARER  inf_abc "])
def test_reads_a_bearer_token(value: str) -> None:
    assert bearer_token(Headers({"authorization": value})) == "inf_abc"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic aW5mOmFiYw==", "inf_abc", "Bearer inf_\xe9"])
def test_refuses_everything_else_without_repeating_it(value: str) -> None:
    with pytest.raises(Unauthorized) as caught:
        bearer_token(Headers({"authorization": value}))

    assert not caught.value.authenticated
    assert "inf_" not in caught.value.message


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&tag=x&limit=1", "canary=&canary="])
def test_a_parameter_counts_once_and_twice_is_refused_without_repeating_it(query: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_once(QueryParams(query))

    assert caught.value.details == {"field": "parameters", "rule": "must be there once each"}
    assert "canary" not in caught.value.message


@pytest.mark.parametrize("query", ["", "limit=1&tag=1", "eventTypes=a&eventTypes=b&limit=1"])
def test_what_is_there_once_or_makes_a_list_is_taken(query: str) -> None:
    check_once(QueryParams(query))
