"""Claims: sentences, joined where they are fragments, split where they are long."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinicon.plugins.extractor.lines import plain_blocks
from infinicon.plugins.extractor.sentences import LONGEST, claims, word_count


def found(text: str) -> list[str]:
    return [text[start:end] for block in plain_blocks(text)[0] for start, end in claims(text, block)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Okay. P11, Jim.", ["P11, Jim."]),
        ("MARK. MARK.", []),
        ("- - We are GO. - -", ["We are GO."]),
        ("-5 degrees is cold.", ["-5 degrees is cold."]),
        ("Dr. Smith met J. F. Kennedy at 5 p.m. They talked.", ["Dr. Smith met J. F. Kennedy at 5 p.m. They talked."]),
        ("It cost approx. 5 dollars a day.", ["It cost approx. 5 dollars a day."]),
        ("I moved to Rome in May. I like it.", ["I moved to Rome in May.", "I like it."]),
        ("1. Close the hatch now. 2. Open the valve.", ["1. Close the hatch now.", "2. Open the valve."]),
        ("No. I like it here.", ["No. I like it here."]),
        ("We close the hatch. In June.", ["We close the hatch. In June."]),
        ("Rome. Okay. We close the hatch.", ["Rome.", "We close the hatch."]),
        ("Milk\nEggs\nBread", ["Milk\nEggs\nBread"]),
        ("Milk\n\nWe close the hatch.", ["Milk", "We close the hatch."]),
        ("项目代号是银杏叶。我们下周一开会。", ["项目代号是银杏叶。", "我们下周一开会。"]),
        ("今日は晴れです！明日は雨でしょう。", ["今日は晴れです！", "明日は雨でしょう。"]),
        ("ذهبت إلى البيت مساء. هل أنت بخير اليوم؟", ["ذهبت إلى البيت مساء.", "هل أنت بخير اليوم؟"]),
        ("Yes.", []),
        ("", []),
    ],
)  # fmt: skip
def test_claims(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_a_long_sentence_is_split_after_a_clause() -> None:
    parts = found("the valve was closed and opened, " * 60)

    assert len(parts) > 1
    assert all(part.endswith(",") for part in parts[:-1])


def test_a_long_word_is_split_between_characters() -> None:
    text = "e\u0301" * 3_000

    parts = found(text)

    assert "".join(parts) == text
    assert not any(unicodedata.combining(part[0]) for part in parts)


def test_an_emoji_is_not_taken_apart() -> None:
    family = "👩\u200d👩\u200d👧\u200d👧"
    parts = found(f"a{family * 400}b{family * 400}c")

    assert all(not part.startswith("\u200d") and not part.endswith("\u200d") for part in parts)


def test_words_of_scripts_without_spaces_are_pairs() -> None:
    assert word_count("one two's 3.5") == 3
    assert word_count("项目代号") >= 3


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("aZ .!?\n,“”\"'-。中é\u0301*1👩\u200d"), max_size=400), st.integers(1, 20))
def test_claims_are_in_order_bounded_and_tidy(text: str, times: int) -> None:
    text *= times
    last = 0
    for block in plain_blocks(text)[0]:
        for start, end in claims(text, block):
            assert last <= start < end <= start + LONGEST
            assert text[start:end] == text[start:end].strip()
            last = end


def test_no_text_is_lost_but_filler() -> None:
    sentences = [f"Valve {number} was closed by hand at noon." for number in range(2_000)]
    text = " Okay. ".join(sentences)

    assert found(text) == sentences
    for first, second in pairwise(sentences):
        assert first != second
