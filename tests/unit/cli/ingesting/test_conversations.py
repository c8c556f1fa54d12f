"""Chat messages as episodes."""

from __future__ import annotations

from typing import Any

import pytest

from infinicon.cli.ingesting.conversations import Conversation, is_conversation, is_message, moment, turn, turns
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft

PLACE = Place("chat.json", 3)


def of(message: Any) -> Draft:
    found = turn(message, Conversation("c1", "id c1"), Place("chat.json", 3, turn=2), "turn 2")
    assert isinstance(found, Draft)
    return found


def episode(message: Any) -> Any:
    return of(message).episode


def drafts(conversation: Any) -> list[Draft]:
    return [found for found in turns(conversation, PLACE, "line 3") if isinstance(found, Draft)]


def test_a_message_is_an_episode() -> None:
    assert episode({"role": "user", "content": "I moved to Turin."}) == {
        "contentType": "text/markdown",
        "content": "I moved to Turin.",
        "createdBy": {"id": "user", "kind": "user"},
        "metadata": {"role": "user", "conversation": "c1", "turn": 2},
    }


@pytest.mark.parametrize(
    ("role", "name", "kind"),
    [
        ("user", "user", "user"),
        ("human", "user", "user"),
        ("Assistant", "assistant", "agent"),
        ("model", "model", "agent"),
        ("developer", "developer", "system"),
        ("system", "system", "system"),
        ("tool", "tool", "plugin"),
        ("Anna", "Anna", "user"),
    ],
)
def test_roles_are_kinds_of_actors(role: str, name: str, kind: str) -> None:
    assert episode({"role": role, "content": "x"})["createdBy"] == {"id": name, "kind": kind}


def test_a_name_beside_a_role_is_who_speaks() -> None:
    found = episode({"role": "user", "name": "Rosa", "content": "x"})

    assert found["createdBy"] == {"id": "Rosa", "kind": "user"}
    assert (found["metadata"]["speaker"], found["metadata"]["role"]) == ("Rosa", "user")


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        ["one", {"type": "image_url", "image_url": {"url": "data:"}}, "two", {"type": "text", "text": " "}],
        {"content_type": "text", "parts": ["one", "two"]},
    ],
)
def test_parts_of_text_become_one_text(content: Any) -> None:
    found = episode({"role": "user", "content": content})

    assert (found["contentType"], found["content"]) == ("text/markdown", "one\n\ntwo")


def test_a_tool_call_is_kept_as_json() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Turin"}'}}]
    found = episode({"role": "assistant", "content": None, "tool_calls": calls, "id": "m1"})

    assert found["contentType"] == "application/json"
    assert found["content"] == {"role": "assistant", "tool_calls": calls}


def test_a_tool_used_in_a_part_is_kept_and_pictures_are_not() -> None:
    used = {"type": "tool_use", "name": "look", "input": {"city": "Turin"}}
    said = {"type": "text", "text": "Let me look."}
    found = episode({"role": "assistant", "content": [said, used, {"type": "image", "source": {"data": "AAAA"}}]})

    assert found["content"] == {"role": "assistant", "content": [said, used]}


def test_what_a_tool_answers_in_its_own_shape_is_kept_as_json() -> None:
    found = episode({"role": "tool", "content": {"degrees": 30}})

    assert (found["contentType"], found["content"]) == (
        "application/json",
        {"role": "tool", "content": {"degrees": 30}},
    )


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "image_url"}]},
        {"role": "assistant", "content": {"content_type": "thoughts", "thoughts": []}},
        {"role": "assistant", "content": " ", "tool_calls": []},
    ],
)
def test_what_says_nothing_is_left_out(message: Any) -> None:
    assert turn(message, Conversation("c", "c"), PLACE, "turn 1") is None


@pytest.mark.parametrize(
    "message", ["x", None, {"content": "x"}, {"role": 5, "content": "x"}, {"role": " ", "content": "x"}]
)
def test_what_is_no_message_is_broken(message: Any) -> None:
    assert isinstance(turn(message, Conversation("c", "c"), PLACE, "turn 1"), Broken)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (1_700_000_000, "2023-11-14T22:13:20Z"),
        (1_700_000_000_500, "2023-11-14T22:13:20.500000Z"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00Z"),
        ("2024-05-01 10:00:00Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01T10:00:00", None),
        ("2024-05-01", None),
        ("yesterday", None),
        (17, None),
        (-5, None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (10**400, None),
        ("0001-01-01T00:00:00+10:00", None),
    ],
)
def test_moments(value: Any, at: str | None) -> None:
    assert moment(value) == at


@pytest.mark.parametrize("name", ["timestamp", "created_at", "create_time", "createdAt"])
def test_the_time_of_a_message(name: str) -> None:
    assert episode({"role": "user", "content": "x", name: 1_700_000_000})["occurredAt"] == "2023-11-14T22:13:20Z"


def test_a_time_without_a_zone_is_kept_as_it_was_written() -> None:
    found = episode({"role": "user", "content": "x", "timestamp": "2024-05-01T10:00:00"})

    assert "occurredAt" not in found
    assert found["metadata"]["time"] == "2024-05-01T10:00:00"


def test_a_list_of_messages_keeps_its_order_and_counts_turns() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "user", "content": ""}, {"role": "assistant", "content": "b"}]
    found = drafts({"id": 7, "title": "Moving", "messages": said})

    assert [draft.episode["metadata"] for draft in found] == [
        {"role": "user", "conversation": "7", "turn": 1, "title": "Moving"},
        {"role": "assistant", "conversation": "7", "turn": 3, "title": "Moving"},
    ]
    assert [str(draft.place) for draft in found] == ["chat.json, line 3, turn 1", "chat.json, line 3, turn 3"]


def test_a_conversation_without_id_is_called_by_its_place() -> None:
    assert (
        drafts({"messages": [{"role": "user", "content": "a"}]})[0].episode["metadata"]["conversation"]
        == "chat.json#line 3"
    )


def test_anchors_do_not_move_when_an_export_puts_newer_conversations_first() -> None:
    old = {"id": "c1", "messages": [{"role": "user", "content": "a"}]}

    (first,) = turns(old, PLACE, "array 1 element 0")
    (later,) = turns(old, PLACE, "array 1 element 9")

    assert isinstance(first, Draft)
    assert isinstance(later, Draft)
    assert first.anchor == later.anchor


def test_an_export_of_claude() -> None:
    found = drafts(
        {
            "uuid": "u1",
            "name": "Moving",
            "chat_messages": [
                {
                    "uuid": "m1",
                    "sender": "human",
                    "text": "Where?",
                    "content": [],
                    "created_at": "2024-05-01T10:00:00Z",
                },
                {
                    "uuid": "m2",
                    "sender": "assistant",
                    "text": "Turin.",
                    "content": [{"type": "text", "text": "Turin."}],
                },
            ],
        }
    )

    assert [draft.episode["content"] for draft in found] == ["Where?", "Turin."]
    assert [draft.episode["createdBy"]["kind"] for draft in found] == ["user", "agent"]
    assert found[0].anchor == "id u1 message m1"
    assert found[0].episode["occurredAt"] == "2024-05-01T10:00:00Z"


def node(parent: str | None, role: str, text: str, at: float = 0, **more: Any) -> Any:
    message = {
        "id": text,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        **more,
    }
    return {"parent": parent, "message": message}


TREE = {
    "root": {"parent": None, "message": None},
    "hidden": node("root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
    "1": node("hidden", "user", "Where?", 1_700_000_000),
    "2": node("1", "assistant", "Rome.", 1_700_000_001),
    "3": node("1", "assistant", "Turin.", 1_700_000_002),
}


def test_an_export_of_chatgpt_gives_the_thread_that_was_seen_last() -> None:
    found = drafts({"conversation_id": "g1", "title": "Moving", "mapping": TREE, "current_node": "3"})

    assert [draft.episode["content"] for draft in found] == ["Where?", "Turin."]
    assert found[1].episode["createdBy"] == {"id": "assistant", "kind": "agent"}
    assert found[1].episode["occurredAt"] == "2023-11-14T22:13:22Z"
    assert found[1].anchor == "id g1 message Turin."


def test_without_a_current_node_all_messages_by_time() -> None:
    assert [d.episode["content"] for d in drafts({"mapping": TREE})] == ["Where?", "Rome.", "Turin."]


def test_a_tree_that_bites_its_tail_ends() -> None:
    tree = {"1": node("2", "user", "a"), "2": node("1", "user", "b")}

    assert [d.episode["content"] for d in drafts({"mapping": tree, "current_node": "1"})] == ["b", "a"]


@pytest.mark.parametrize(
    ("value", "message", "conversation"),
    [
        ({"role": "user", "content": "x"}, True, False),
        ({"sender": "human", "text": "x"}, True, False),
        ({"author": {"role": "user"}, "content": "x"}, True, False),
        ({"role": "assistant", "tool_calls": []}, True, False),
        ({"role": "user"}, False, False),
        ({"content": "x"}, False, False),
        ({"role": "user", "content": "x", "contentType": "text/plain"}, False, False),
        ({"messages": []}, False, True),
        ({"chat_messages": []}, False, True),
        ({"mapping": {}}, False, True),
        ({"messages": 5}, False, False),
        ({"content": "x", "messages": []}, False, False),
        ([], False, False),
    ],
)
def test_what_is_what(value: Any, message: bool, conversation: bool) -> None:
    assert is_message(value) is message
    assert isinstance(value, dict) is False or is_conversation(value) is conversation
