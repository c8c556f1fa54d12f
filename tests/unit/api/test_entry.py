from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from infinicon.api.entry import bearer_token
from infinicon.errors import Unauthorized


@pytest.mark.parametrize("value", ["Bearer inf_abc", "bearer inf_abc", "BEARER  inf_abc "])
def test_reads_a_bearer_token(value: str) -> None:
    assert bearer_token(Headers({"authorization": value})) == "inf_abc"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic aW5mOmFiYw==", "inf_abc", "Bearer inf_\xe9"])
def test_refuses_everything_else_without_repeating_it(value: str) -> None:
    with pytest.raises(Unauthorized) as caught:
        bearer_token(Headers({"authorization": value}))

    assert not caught.value.authenticated
    assert "inf_" not in caught.value.message
