from __future__ import annotations

import json
from typing import Any

import pytest

from infinicon.api.wire import bindings as wire
from infinicon.domain import Scope
from infinicon.errors import InvalidRequest

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


def parse(**sent: Any) -> tuple[str, Scope]:
    return wire.parse(json.dumps({"memoryRef": "mem:ada", "scope": SCOPE, **sent}).encode())


def test_what_is_bound() -> None:
    assert parse() == ("mem:ada", Scope("acme", "notes"))
    assert parse(scope={**SCOPE, "agentId": "ada", "sessionId": "s"}) == ("mem:ada", Scope("acme", "notes", "ada", "s"))


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"scope": {**SCOPE, "agentld": "ada"}}, "scope"),
        ({"agentId": "ada"}, "body"),
        ({"memoryRef": "\x00"}, "memoryRef"),
    ],
)
def test_a_misspelled_member_does_not_bind_the_whole_namespace(sent: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**sent)

    assert caught.value.details["field"] == field


def test_where_a_page_begins() -> None:
    assert wire.after({}) == ""
    assert wire.after({"after": "mem:ada"}) == "mem:ada"


@pytest.mark.parametrize("sent", ["\x00", "", "x" * 257])
def test_where_no_page_begins_says_it_in_plain_words(sent: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.after({"after": sent})

    assert caught.value.details["field"] == "after"
    assert caught.value.message.startswith("after must ")
