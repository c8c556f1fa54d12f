"""Where spans stand once secrets are out of a text."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from infinicon.domain import Json, MemoryType, Span, Status
from infinicon.operations.redaction import Redactor
from infinicon.operations.rewording import moved_span, quoted_anew, reworded
from infinicon.store.redactions import Stored, Words

SECRET = "hunter22"
REDACTOR = Redactor({"one": SECRET, "two": "correct horse"})
WORDS = st.lists(st.sampled_from([SECRET, "correct horse", "a ", "é", "x\n", "[REDACTED:one]"]), max_size=8)


def episode(content: Json) -> Stored:
    text = isinstance(content, str)
    words = Words(
        "text/plain" if text else "application/json",
        content if isinstance(content, str) else json.dumps(content),
        None, None, None, {"id": "x", "kind": "user"}, {}, [], None, None,
    )  # fmt: skip
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Stored(UUID(int=1), MemoryType.EPISODE, Status.ACTIVE, 1, None, None, None, now, False, False, False, words)


@given(WORDS, WORDS, WORDS)
def test_a_span_covers_what_it_covered_redacted(before: list[str], inside: list[str], after: list[str]) -> None:
    """Where no secret reaches across its ends."""
    parts = ["".join(one) for one in (before, inside, after)]
    whole = "".join(parts)
    if REDACTOR.text(whole) != "".join(map(REDACTOR.text, parts)):
        return
    span = Span(len(parts[0]), len(parts[0]) + len(parts[1]))
    there = moved_span(REDACTOR, episode(whole), span)
    if parts[1]:
        assert REDACTOR.text(whole)[there.start : there.end] == REDACTOR.text(parts[1])


def test_a_span_that_cuts_through_a_secret_quotes_its_marker() -> None:
    stored = episode(f"It is {SECRET} today.")
    for span in (Span(0, 9), Span(8, 21), Span(8, 10)):
        there = moved_span(REDACTOR, stored, span)
        new = REDACTOR.text(str(stored.words.content))[there.start : there.end]
        assert "[REDACTED:one]" in new
        assert quoted_anew(REDACTOR, stored, span) == new
    assert quoted_anew(REDACTOR, stored, Span(0, 6)) is None
    assert quoted_anew(REDACTOR, stored, Span(14, 20)) is None


def test_a_path_follows_its_names() -> None:
    stored = episode({"a/b~c": 1, f"k/{SECRET}": [f"say {SECRET}!", {"x": "y"}]})
    words = reworded(REDACTOR, stored)
    assert json.loads(str(words.content)) == {"a/b~c": 1, "k/[REDACTED:one]": ["say [REDACTED:one]!", {"x": "y"}]}
    assert moved_span(REDACTOR, stored, Span(12, 13, f"/k~1{SECRET}/0")) == Span(18, 19, "/k~1[REDACTED:one]/0")
    for nowhere in ("/none", f"/k~1{SECRET}/7", f"/k~1{SECRET}/1/x/y", "/a~1b~0c"):
        assert moved_span(REDACTOR, stored, Span(0, 1, nowhere)) == Span(0, 1, nowhere)
        assert quoted_anew(REDACTOR, stored, Span(0, 1, nowhere)) is None


def test_a_document_without_a_secret_stays_as_it_is_written() -> None:
    stored = episode([1])
    spaced = '{ "a" :  1.50 }'
    words = Words("application/json", spaced, None, None, None, {}, {}, [], None, None)
    assert reworded(REDACTOR, replace(stored, words=words)).content == spaced
