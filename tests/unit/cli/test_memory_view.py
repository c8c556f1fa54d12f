"""What `infinicon memory` asks for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from infinicon.cli import memory_view as view
from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import WrongUsage


class Asked:
    """In the place of a client: keeps what was sent."""

    def __init__(self, reply: Wire) -> None:
        self.reply = reply
        self.sent: list[Any] = []

    def post(self, _path: str, body: Wire) -> Wire:
        self.sent.append(body)
        return self.reply


def listed(asked: Asked, query: str | None) -> None:
    view.listed(cast("Client", asked), "home", budget=None, limit=0, tag=None, query=query, as_json=True)


@pytest.mark.parametrize("query", ["", " "])
def test_a_blank_query_is_refused_in_words_of_the_command_line(query: str) -> None:
    asked = Asked({})
    with pytest.raises(WrongUsage) as caught:
        listed(asked, query)

    assert "--query" in caught.value.remedy
    assert asked.sent == []


def test_a_query_asks_for_relevance() -> None:
    asked = Asked({"entries": []})
    listed(asked, "refund policy")
    listed(asked, None)

    assert [body.get("rank") for body in asked.sent] == ["relevance", None]


def test_a_put_whose_time_is_over_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    late = {"code": "already_expired", "message": "its expiresAt is past"}
    asked = Asked({"entry": {"id": "an id"}, "warnings": [late]})
    view.put(cast("Client", asked), "home", "Too late.", (), None, as_json=False)

    shown = capsys.readouterr()
    assert (shown.out, late["message"] in shown.err) == ("an id\n", True)
