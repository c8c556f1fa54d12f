"""What a JSON value is."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from infinicon.cli.ingesting import documents, lines
from infinicon.cli.ingesting.mapping import FieldMap
from infinicon.cli.ingesting.places import Broken
from infinicon.cli.ingesting.records import Found, Records, Shape
from infinicon.cli.ingesting.shaping import Draft

EPISODE = {"content": "x", "contentType": "text/plain"}
MESSAGE = {"role": "user", "content": "x"}


def of_lines(*values: Any, shape: Shape = Shape.GUESS, fields: FieldMap | None = None) -> list[Found]:
    data = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values).encode()
    return list(Records("a", shape, fields).of_lines(lines.numbered(io.BytesIO(data), "a")))


def of_document(text: Any, shape: Shape = Shape.GUESS) -> list[Found]:
    data = (text if isinstance(text, str) else json.dumps(text)).encode()
    return list(Records("a", shape, None).of_items(documents.items(io.BytesIO(data), "a")))


def drafts(found: list[Found]) -> list[Draft]:
    assert all(isinstance(item, Draft) for item in found)
    return [item for item in found if isinstance(item, Draft)]


def anchors(found: list[Found]) -> list[str]:
    return [draft.anchor for draft in drafts(found)]


def test_a_line_is_an_episode_without_its_scope() -> None:
    (draft,) = drafts(of_lines({**EPISODE, "scope": {"agentId": "a"}}))

    assert (draft.episode, draft.scope, draft.anchor) == (EPISODE, {"agentId": "a"}, "line 1")


def test_a_body_of_a_request_gives_its_episodes_in_its_scope() -> None:
    one, two = drafts(
        of_lines({"scope": {"agentId": "a"}, "episodes": [EPISODE, {**EPISODE, "scope": {"agentId": "b"}}]})
    )

    assert (one.scope, two.scope) == ({"agentId": "a"}, {"agentId": "b"})
    assert (one.anchor, two.anchor) == ("line 1 episode 0", "line 1 episode 1")


def test_messages_in_lines_are_one_conversation() -> None:
    found = drafts(of_lines(MESSAGE, "", {"role": "assistant", "content": "y"}))

    assert [draft.episode["metadata"] for draft in found] == [
        {"role": "user", "conversation": "a", "turn": 1},
        {"role": "assistant", "conversation": "a", "turn": 2},
    ]
    assert anchors(of_lines(MESSAGE, "", MESSAGE)) == [" line 1", " line 3"]


def test_a_broken_line_does_not_move_the_keys_of_those_behind_it() -> None:
    mended = of_lines(MESSAGE, MESSAGE, MESSAGE)
    broken = of_lines(MESSAGE, "{", MESSAGE)

    assert isinstance(broken[1], Broken)
    assert anchors([broken[0], broken[2]]) == [anchors(mended)[0], anchors(mended)[2]]


def test_a_conversation_in_a_line() -> None:
    assert [d.episode["metadata"]["turn"] for d in drafts(of_lines({"messages": [MESSAGE, MESSAGE]}))] == [1, 2]
    assert [d.episode["metadata"]["turn"] for d in drafts(of_lines([MESSAGE, MESSAGE]))] == [1, 2]


def test_every_array_of_a_document_is_a_conversation() -> None:
    found = drafts(of_document(f"[{json.dumps(MESSAGE)}, {json.dumps(MESSAGE)}] [{json.dumps(MESSAGE)}]"))

    assert [(d.episode["metadata"]["conversation"], d.episode["metadata"]["turn"]) for d in found] == [
        ("a", 1),
        ("a", 2),
        ("a#2", 1),
    ]
    assert len({draft.anchor for draft in found}) == 3


def test_messages_under_a_name_belong_to_what_stood_before() -> None:
    (draft,) = drafts(of_document({"id": "c1", "title": "Moving", "messages": [MESSAGE]}))

    assert draft.episode["metadata"] == {"role": "user", "conversation": "c1", "turn": 1, "title": "Moving"}
    assert draft.anchor == "id c1 element 0"


def test_conversations_in_an_array() -> None:
    found = drafts(of_document([{"id": "c1", "messages": [MESSAGE]}, {"id": "c2", "messages": [MESSAGE]}]))

    assert [draft.episode["metadata"]["conversation"] for draft in found] == ["c1", "c2"]


def test_episodes_in_an_array_and_under_a_name_and_one_after_another() -> None:
    for text in ([EPISODE, EPISODE], {"episodes": [EPISODE, EPISODE]}, json.dumps(EPISODE) + json.dumps(EPISODE)):
        assert len(set(anchors(of_document(text)))) == 2


@pytest.mark.parametrize(
    ("value", "shape", "says"),
    [
        ({"text": "x"}, Shape.GUESS, "--map"),
        ({"text": "x"}, Shape.EPISODE, "--map"),
        (EPISODE, Shape.CHAT, "a message needs a role"),
        (5, Shape.GUESS, "not a JSON object"),
        ([5], Shape.GUESS, "not a JSON object"),
        ("{", Shape.GUESS, "not JSON at column 2"),
        ({**EPISODE, "scope": "x"}, Shape.GUESS, "its scope is no object"),
    ],
)
def test_what_is_nothing_of_this_is_broken(value: Any, shape: Shape, says: str) -> None:
    (found,) = of_lines(value, shape=shape)

    assert isinstance(found, Broken)
    assert says in found.reason


def test_ndjson_takes_a_role_for_an_unknown_field() -> None:
    (draft,) = drafts(of_lines(MESSAGE, shape=Shape.EPISODE))

    assert draft.episode == MESSAGE


def test_a_map_reads_every_record_its_way() -> None:
    (draft,) = drafts(of_lines({"messages": [1], "t": "x"}, fields=FieldMap.parse("content=t")))

    assert draft.episode == {"content": "x"}


def test_a_message_without_text_is_left_out() -> None:
    assert of_lines({"role": "user", "content": ""}) == [None]
