"""Drafts become episodes: defaults, keys, scopes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Defaults, Draft, Prepared, prepare


def draft(episode: dict[str, Any], source: str = "a.jsonl", anchor: str = "line 1", **scope: Any) -> Draft:
    return Draft(Place(source, 1), anchor, episode, scope)


def prepared(given: Draft, defaults: Defaults = Defaults()) -> Prepared:  # noqa: B008 - frozen
    found = prepare(given, defaults)
    assert isinstance(found, Prepared)
    return found


def sent(given: Draft, defaults: Defaults = Defaults()) -> Any:  # noqa: B008 - frozen
    return json.loads(prepared(given, defaults).wire)


def reason(given: Draft) -> str:
    found = prepare(given, Defaults())
    assert isinstance(found, Broken)
    return found.reason


@pytest.mark.parametrize(
    ("content", "type_"), [("x", "text/plain"), ({"a": 1}, "application/json"), (None, "application/json")]
)
def test_the_content_type_follows_from_the_content(content: Any, type_: str) -> None:
    assert sent(draft({"content": content}))["contentType"] == type_


def test_what_is_given_is_left_alone() -> None:
    given = {
        "content": "x",
        "contentType": "text/markdown",
        "dedupeKey": "mine",
        "createdBy": {"id": "a", "kind": "agent"},
        "more": 1,
    }

    assert sent(draft(given), Defaults(author="rosa")) == given


def test_an_author_is_who_speaks_too() -> None:
    found = sent(draft({"content": "x", "metadata": {"n": 1}}), Defaults(author="rosa"))

    assert (found["createdBy"], found["metadata"]) == ({"id": "rosa", "kind": "user"}, {"speaker": "rosa", "n": 1})


def test_without_an_author_the_server_says_who_it_is() -> None:
    assert "createdBy" not in sent(draft({"content": "x"}))


def test_a_key_is_the_same_for_the_same_input() -> None:
    assert (
        sent(draft({"content": "x"}))["dedupeKey"] == sent(draft({"content": "x", "metadata": {"n": 1}}))["dedupeKey"]
    )


@pytest.mark.parametrize(
    "other",
    [
        draft({"content": "y"}),
        draft({"content": "x", "contentType": "text/markdown"}),
        draft({"content": "x"}, source="b.jsonl"),
        draft({"content": "x"}, anchor="line 2"),
    ],
    ids=["content", "contentType", "source", "place"],
)
def test_a_key_is_another_for_other_input(other: Draft) -> None:
    assert sent(draft({"content": "x"}))["dedupeKey"] != sent(other)["dedupeKey"]


def test_a_key_stays_what_it_was_in_earlier_releases() -> None:
    """A change here would add everything once more that people ingest again."""
    assert (
        sent(draft({"content": "Rosa moved to Turin."}))["dedupeKey"]
        == "ingest-8da2a4dafad10ee3fc83db80cd5ff59d747df465"
    )


def test_a_scope_of_its_own_wins_over_the_command_line() -> None:
    defaults = Defaults(agent="helper", session="s1")

    assert prepared(draft({"content": "x"}), defaults).scope == '{"agentId":"helper","sessionId":"s1"}'
    assert (
        prepared(
            draft({"content": "x"}, sessionId="s2", filters={"a": 1}, tenantId="t", namespaceId="n"), defaults
        ).scope
        == '{"agentId":"helper","sessionId":"s2","filters":{"a":1}}'
    )
    assert prepared(draft({"content": "x"})).scope == "{}"


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ({"agentId": ""}, "agentId"),
        ({"agentId": "a\n"}, "agentId"),
        ({"sessionId": "x" * 257}, "sessionId"),
        ({"sessionId": 5}, "sessionId"),
        ({"filters": []}, "filters"),
    ],
)
def test_a_scope_that_no_request_may_have_is_broken(scope: dict[str, Any], says: str) -> None:
    assert says in reason(draft({"content": "x"}, **scope))


def test_a_lone_surrogate_travels_as_an_escape() -> None:
    assert b"\\ud83d" in prepared(draft({"content": "x\ud83d"})).wire


def test_text_travels_as_utf_8() -> None:
    assert "Türme 記憶".encode() in prepared(draft({"content": "Türme 記憶"})).wire


@pytest.mark.parametrize("episode", [{"content": float("inf")}, {"content": "x", "metadata": {"n": float("inf")}}])
def test_numbers_beyond_a_double_are_broken(episode: dict[str, Any]) -> None:
    assert "range of a double" in reason(draft(episode))


def test_no_content_is_broken() -> None:
    assert reason(draft({"metadata": {}})) == "has no content"


def test_metadata_that_is_none_is_the_servers_to_judge() -> None:
    assert sent(draft({"content": "x", "metadata": [1]}), Defaults(author="rosa"))["metadata"] == [1]
