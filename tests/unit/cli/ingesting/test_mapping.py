"""--map."""

from __future__ import annotations

from typing import Any

import pytest

from infinicon.cli.faults import WrongUsage
from infinicon.cli.ingesting.mapping import FieldMap
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft

TURN = {
    "d": "dev:1_00000",
    "i": 0,
    "s": "USER",
    "t": "Book a table.",
    "a.b": 1,
    "in": {"side": {"deep": 2.5}},
    "no": False,
}


def draft(text: str, record: Any = TURN) -> Draft:
    found = FieldMap.parse(text).draft(record, Place("a", 1), "line 1")
    assert isinstance(found, Draft)
    return found


def episode(text: str, record: Any = TURN) -> Any:
    return draft(text, record).episode


def test_the_example_of_the_documentation() -> None:
    assert episode("content=t,createdBy=s,dedupeKey=d+i,metadata.dialogue=d") == {
        "content": "Book a table.",
        "createdBy": {"id": "USER", "kind": "user"},
        "dedupeKey": "dev:1_00000-0",
        "metadata": {"dialogue": "dev:1_00000"},
    }


def test_a_speaker_is_author_and_metadata() -> None:
    found = episode("content=t,speaker=s")

    assert (found["createdBy"]["id"], found["metadata"]) == ("USER", {"speaker": "USER"})
    assert episode("content=t,speaker=s,createdBy=d")["createdBy"]["id"] == "dev:1_00000"


@pytest.mark.parametrize(
    ("said", "kind"), [("SYSTEM", "system"), ("assistant", "agent"), ("Rosa", "user"), (5, "user")]
)
def test_known_roles_are_kinds(said: object, kind: str) -> None:
    assert episode("content=t,createdBy=s", {**TURN, "s": said})["createdBy"] == {"id": str(said), "kind": kind}


def test_names_with_dots_and_objects_within() -> None:
    assert episode("content=t,metadata.a=a.b,metadata.b=in.side.deep,metadata.c=in")["metadata"] == {
        "a": 1,
        "b": 2.5,
        "c": {"side": {"deep": 2.5}},
    }


def test_parts_are_joined_as_text() -> None:
    assert episode("content=t,dedupeKey=no+i+a.b")["dedupeKey"] == "false-0-1"
    assert episode("content=s+t")["content"] == "USER-Book a table."


def test_content_may_be_any_json() -> None:
    assert episode("content=in")["content"] == {"side": {"deep": 2.5}}


def test_scope_and_tags_and_times() -> None:
    found = draft("content=t,sessionId=d,agentId=i,tags=s,occurredAt=at", {**TURN, "at": 1_700_000_000})

    assert found.scope == {"sessionId": "dev:1_00000", "agentId": "0"}
    assert found.episode["tags"] == ["USER"]
    assert found.episode["occurredAt"] == "2023-11-14T22:13:20Z"


def test_a_time_that_is_none_is_the_servers_to_judge() -> None:
    assert episode("content=t,occurredAt=s")["occurredAt"] == "USER"


def test_what_is_not_there_is_left_out() -> None:
    assert episode("content=t,tags=x,metadata.y=x.y,occurredAt=x,createdBy=x", TURN) == {"content": "Book a table."}


@pytest.mark.parametrize("text", ["content=x", "content=t,dedupeKey=d+x", "content=t,sessionId=x", "content=t+x"])
def test_a_line_without_what_it_needs_is_broken(text: str) -> None:
    found = FieldMap.parse(text).draft(TURN, Place("a", 1), "line 1")

    assert isinstance(found, Broken)
    assert "dev:" not in found.reason


@pytest.mark.parametrize("record", [5, "x", None, ["t"]])
def test_a_record_that_is_no_object_is_broken(record: Any) -> None:
    assert isinstance(FieldMap.parse("content=t").draft(record, Place("a", 1), "line 1"), Broken)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t",
        "content",
        "content=",
        "=t",
        "content=t,",
        "text=t",
        "createdBy=s",
        "content=t,content=s",
        "content=t+",
        "content=t,metadata.=s",
    ],
)
def test_wrong_usage_says_how(text: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        FieldMap.parse(text)

    assert "--map" in refused.value.message
    assert "for example" in refused.value.remedy
