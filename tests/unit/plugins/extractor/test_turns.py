"""JSON as passages and facts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from infinicon.domain import Json
from infinicon.plugins.extractor.turns import name_of, passages

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def read(content: Json) -> tuple[list[tuple[str, str, str | None]], list[str]]:
    found, facts = passages(content, "default", NOON)
    return [(passage.text, passage.path, passage.speaker) for passage in found], facts


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "user", "content": "Hi"},
        {"speaker": "user", "text": "Hi"},
        {"speaker": "user", "role": "x", "content": "Hi"},
    ],
)
def test_a_turn(turn: dict[str, Json]) -> None:
    key = "content" if "content" in turn else "text"

    assert read(turn) == ([("Hi", f"/{key}", "user")], [])
    assert read([turn]) == ([("Hi", f"/0/{key}", "user")], [])


@pytest.mark.parametrize("key", ["messages", "turns", "conversation"])
def test_turns_under_a_key(key: str) -> None:
    assert read({key: [{"role": "user", "content": "Hi"}]}) == ([("Hi", f"/{key}/0/content", "user")], [])


def test_parts_of_a_turn() -> None:
    turn: Json = {
        "role": "user",
        "content": [{"type": "text", "text": "Hi"}, {"type": "image", "url": "x"}, "there"],
        "id": "t1",
    }

    assert read(turn) == ([("Hi", "/content/0/text", "user"), ("there", "/content/2", "user")], ["url: x", "id: t1"])


def test_another_string_of_a_turn_is_its_speakers() -> None:
    assert read({"role": "user", "content": "Hi", "caption": "a photo of a dog"})[0][1] == (
        "a photo of a dog",
        "/caption",
        "user",
    )


@pytest.mark.parametrize("key", ["at", "time", "timestamp", "date"])
def test_the_time_of_a_turn(key: str) -> None:
    found, _ = passages({"role": "user", "content": "Hi", key: "2026-05-02T10:00:00+02:00"}, None, NOON)

    assert found[0].at == datetime(2026, 5, 2, 10, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    "value",
    [
        "2026-05-02T10:00:00",
        "yesterday",
        "2026-05-02",
        17,
        True,
        1e300,
        float("nan"),
        -1,
        None,
        {},
        "2026-99-99T00:00:00Z",
        "1" * 10_000,
    ],
)
def test_a_time_that_says_too_little_is_ignored(value: Json) -> None:
    found, _ = passages({"role": "user", "content": "Hi", "at": value}, None, NOON)

    assert found[0].at == NOON


def test_other_json_is_passages_and_facts() -> None:
    content: Json = {
        "title": "A trip to Rome",
        "city": "Rome",
        "days": 3,
        "booked": True,
        "note": None,
        "tags": ["sun", "sea"],
        "x": "",
    }

    assert read(content) == (
        [("A trip to Rome", "/title", "default")],
        ["city: Rome", "days: 3", "booked: true", "tags: sun", "tags: sea"],
    )


def test_pointers_are_escaped() -> None:
    assert read({"a/b": {"~c": [["three words here"]]}})[0][0][1] == "/a~1b/~0c/0/0"


def test_a_bare_value() -> None:
    assert read("three words here") == ([("three words here", "", "default")], [])
    assert read("two words") == ([], ["two words"])
    assert read(7) == ([], ["7"])


def test_nesting_may_be_deep() -> None:
    content: Json = "three words here"
    for _ in range(5_000):
        content = [content]

    assert len(read(content)[0]) == 1


def test_names() -> None:
    assert name_of("  Ada \n Lovelace ") == "Ada Lovelace"
    assert name_of(" ") is None
    assert name_of(["Ada"]) is None
    assert len(name_of("x" * 9_999) or "") == 256


@pytest.mark.parametrize(
    ("turn", "speaker", "path"),
    [
        ({"name": "Bob", "role": "user", "content": "Hi"}, "Bob", "/content"),
        ({"author": "Bob", "text": "Hi"}, "Bob", "/text"),
        ({"author": {"role": "user", "name": None}, "content": {"parts": ["Hi"]}}, "user", "/content/parts/0"),
        ({"from": "human", "value": "Hi"}, "human", "/value"),
        ({"sender": "Bob", "body": "Hi"}, "Bob", "/body"),
        ({"role": "user", "parts": [{"text": "Hi"}]}, "user", "/parts/0/text"),
    ],
)
def test_shapes_of_turns(turn: dict[str, Json], speaker: str, path: str) -> None:
    assert read(turn)[0] == [("Hi", path, speaker)]


@pytest.mark.parametrize("value", [1_714_557_600, 1_714_557_600_000, "2024-05-01T10:00:00Z"])
@pytest.mark.parametrize("key", ["created_at", "createdAt", "create_time"])
def test_moments(key: str, value: Json) -> None:
    found, facts = passages({"role": "user", "content": "Hi", key: value}, None, NOON)

    assert found[0].at == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert facts == []


def test_what_a_tool_is_called_with_is_facts() -> None:
    call: Json = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": {"q": "rain in Rome today"}},
    }
    turn: Json = {"role": "assistant", "content": None, "tool_calls": [call]}

    assert read(turn) == ([], ["id: c1", "name: get_weather", "q: rain in Rome today"])
    used: Json = {"type": "tool_use", "name": "search", "input": {"q": "rain in Rome today"}}
    assert read({"role": "assistant", "content": [used]}) == ([], ["name: search", "q: rain in Rome today"])


def test_a_thing_with_a_name_is_no_turn() -> None:
    assert read({"name": "Rome", "text": "We went by train."}) == (
        [("We went by train.", "/text", "default")],
        ["name: Rome"],
    )
