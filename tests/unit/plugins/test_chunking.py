"""Long text as spans, with a tokeniser that counts words and never more than five characters of one."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinicon.domain import Span
from infinicon.plugins.chunking import Offsets, chunk

BUDGET = 20


def tokenise(texts: list[str]) -> list[Offsets]:
    return [[match.span() for match in re.finditer(r"\S{1,5}", text)] for text in texts]


def chunks(text: str) -> list[str]:
    (spans,) = chunk([text], BUDGET, tokenise)
    for first, second in pairwise(spans):
        assert not text[first.end : second.start].strip()
    assert not text[: spans[0].start].strip()
    assert not text[spans[-1].end :].strip()
    return [text[span.start : span.end] for span in spans]


def test_short_text_is_not_tokenised() -> None:
    def refuse(texts: list[str]) -> list[Offsets]:
        raise AssertionError(texts)

    assert chunk(["short", ""], BUDGET, refuse) == [[Span(0, 5)], [Span(0, 0)]]


def test_short_text_that_is_not_ascii_is_counted() -> None:
    """A character may be several tokens there."""

    def three_each(texts: list[str]) -> list[Offsets]:
        return [[(at, at + 1) for at in range(len(text)) for _ in range(3)] for text in texts]

    (spans,) = chunk(["가" * 15], BUDGET, three_each)

    assert len(spans) > 1
    assert all(3 * (span.end - span.start) <= BUDGET for span in spans)


def test_cuts_are_between_sentences_where_there_are_some() -> None:
    found = chunks("One two three four five six seven. " * 8)

    assert len(found) > 1
    assert all(part.endswith("seven.") for part in found)


def test_cuts_are_between_words_where_there_is_no_sentence() -> None:
    assert all(set(part.split()) == {"word"} for part in chunks("word " * 200))


def test_text_without_spaces_is_cut_anyway() -> None:
    found = chunks("x" * 1_000)

    assert "".join(found) == "x" * 1_000
    assert all(len(part) <= 5 * BUDGET for part in found)


def test_very_long_text_is_shown_to_the_tokeniser_in_pieces() -> None:
    longest = 0

    def watch(texts: list[str]) -> list[Offsets]:
        nonlocal longest
        longest = max(longest, *map(len, texts))
        return tokenise(texts)

    chunk(["y" * 100_000, "word " * 20_000], BUDGET, watch)

    assert longest <= 4_000


def test_texts_keep_their_places() -> None:
    spans = chunk(["short", "word " * 100, "also short"], BUDGET, tokenise)

    assert [len(found) > 1 for found in spans] == [False, True, False]


def test_a_token_longer_than_the_budget_allows_ends_the_search() -> None:
    """Even a tokeniser that makes a hundred tokens of every character cannot keep the cutting from ending."""
    (spans,) = chunk(["ab" * 20], 5, lambda texts: [[(0, 1)] * 100 * len(text) for text in texts])

    assert len(spans) == 40


@pytest.mark.parametrize("text", ["   ", "\n" * 500, " " * 9_000])
def test_blank_text_has_one_span(text: str) -> None:
    assert chunk([text], BUDGET, tokenise) == [[Span(0, len(text))]]


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab .\n。é가"), max_size=600))
def test_every_chunk_fits(text: str) -> None:
    assert all(len(tokenise([part])[0]) <= BUDGET for part in chunks(text))
