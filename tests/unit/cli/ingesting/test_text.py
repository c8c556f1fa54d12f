"""Text and Markdown as episodes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.cli.ingesting import text
from infinicon.cli.ingesting.places import Broken
from infinicon.cli.ingesting.shaping import Draft
from infinicon.cli.ingesting.text import drafts, parts

PLAIN, MARKDOWN = "text/plain", "text/markdown"


def found(data: bytes, content_type: str = PLAIN) -> list[Any]:
    return [
        item.reason if isinstance(item, Broken) else (item.episode["content"], item.episode["metadata"], item.anchor)
        for item in drafts(io.BytesIO(data), "a.txt", content_type)
    ]


def cut(whole: str, content_type: str = PLAIN, bound: int = 40) -> list[str]:
    return list(parts([whole], content_type, bound))


def test_a_file_is_one_episode() -> None:
    (draft,) = drafts(io.BytesIO("Türme.\n\nMehr.\n".encode()), "a.md", MARKDOWN)

    assert isinstance(draft, Draft)
    assert draft.episode == {"contentType": MARKDOWN, "content": "Türme.\n\nMehr.", "metadata": {"file": "a.md"}}
    assert str(draft.place) == "a.md"


def test_a_long_one_is_several_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_boundary", lambda part, _type: len(part))
    half = "x" * text.PART_CHARACTERS

    assert [(len(content), metadata, anchor) for content, metadata, anchor in found((half + half + "y").encode())] == [
        (text.PART_CHARACTERS, {"file": "a.txt", "part": 1}, "part 1"),
        (text.PART_CHARACTERS, {"file": "a.txt", "part": 2}, "part 2"),
        (1, {"file": "a.txt", "part": 3}, "part 3"),
    ]


def test_the_first_part_of_a_file_that_grew_keeps_its_key() -> None:
    assert found(b"one")[0][2] == "part 1"


@pytest.mark.parametrize("data", [b"", b"\n \n\n"])
def test_nothing_but_blanks_is_no_episode(data: bytes) -> None:
    assert found(data) == []


def test_line_ends_are_line_feeds() -> None:
    assert found(b"one\r\ntwo\rthree\n")[0][0] == "one\ntwo\nthree"


@pytest.mark.parametrize(("data", "says"), [(b"a\xffb", "not UTF-8"), (b"a\x00b", "NUL"), (b"\xc3", "not UTF-8")])
def test_what_is_no_text_is_broken(data: bytes, says: str) -> None:
    (reason,) = found(data)

    assert says in reason


def test_a_damaged_stream_ends_with_its_reason() -> None:
    class Cut(io.BytesIO):
        def read1(self, _size: int | None = -1, /) -> bytes:
            raise EOFError

    assert [item.reason for item in drafts(Cut(), "a", PLAIN) if isinstance(item, Broken)] == [
        "the compressed file ends too early"
    ]


def test_it_is_cut_behind_paragraphs() -> None:
    assert cut("one one one one\n\ntwo two two two\n\nthree three three") == [
        "one one one one\n\ntwo two two two",
        "three three three",
    ]


def test_without_paragraphs_behind_lines_and_without_lines_behind_words() -> None:
    assert cut("one one one one one one one\ntwo two two two two") == [
        "one one one one one one one",
        "two two two two two",
    ]
    assert cut("one two three four five six seven eight nine ten") == [
        "one two three four five six seven eight ",
        "nine ten",
    ]
    assert cut("x" * 50) == ["x" * 40, "x" * 10]


def test_rows_stay_whole() -> None:
    assert cut("a,b,c,d,e,f,g,h,i,j\n\nk,l,m,n,o,p,q,r\ns,t,u,v", "text/csv") == [
        "a,b,c,d,e,f,g,h,i,j\n\nk,l,m,n,o,p,q,r",
        "s,t,u,v",
    ]


def test_code_between_fences_stays_whole() -> None:
    code = "before it\n\n```\nx = 1\n\ny = 2\n```\n\nafter it all"

    assert cut(code, MARKDOWN, 30) == ["before it", "```\nx = 1\n\ny = 2\n```", "after it all"]


@given(
    st.text(alphabet="ab \n`é", max_size=300),
    st.integers(10, 60),
    st.integers(1, 50),
    st.sampled_from([PLAIN, MARKDOWN]),
)
def test_where_the_stream_is_cut_changes_nothing_and_nothing_is_lost(
    whole: str, bound: int, size: int, content_type: str
) -> None:
    found = cut(whole, content_type, bound)
    chunks = [whole[at : at + size] for at in range(0, len(whole), size)]

    assert list(parts(chunks, content_type, bound)) == found
    assert all(len(part) <= bound for part in found)
    assert "".join("".join(found).split()) == "".join(whole.split())
