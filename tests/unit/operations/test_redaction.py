"""The redactor: no known secret is left, markers stay whole, and twice is as good as once."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.domain import Json
from infinicon.operations.redaction import NOTHING, SHORTEST, Redactor, marker

FEW_LETTERS = st.text("ab[]:REDACT1\n é漢", min_size=1, max_size=24)
NAMES = ("one", "two", "abREDACTED", "1111-2222")


def _pieces(value: str) -> list[str]:
    """What stands between markers of known secrets."""
    known = "|".join(re.escape(marker(name)) for name in NAMES)
    return re.split(known, value)


@given(st.lists(FEW_LETTERS, min_size=1, max_size=4), st.lists(FEW_LETTERS, max_size=6), st.randoms())
def test_no_secret_is_left_outside_markers_and_twice_is_as_good_as_once(
    secrets: list[str], words: list[str], random: Random
) -> None:
    redactor = Redactor(dict(zip(NAMES, secrets, strict=False)))
    parts = [*words, *secrets, *secrets]
    random.shuffle(parts)
    redacted = redactor.text("".join(parts))
    for secret in secrets:
        if len(secret) >= SHORTEST:
            assert all(secret not in piece for piece in _pieces(redacted))
    assert redactor.text(redacted) == redacted


@given(st.lists(FEW_LETTERS.filter(lambda value: len(value) < SHORTEST), max_size=4), st.text())
def test_values_under_eight_characters_touch_nothing(secrets: list[str], text: str) -> None:
    redactor = Redactor(dict(zip(NAMES, secrets, strict=False)))
    assert redactor.text(text + "".join(secrets)) == text + "".join(secrets)


def test_eight_characters_are_enough_and_seven_are_not() -> None:
    redactor = Redactor({"seven": "abcdefg", "eight": "ABCDEFGH"})
    assert redactor.text("abcdefg ABCDEFGH") == "abcdefg [REDACTED:eight]"


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (
            {"short": "hunter22", "long": "hunter22hunter"},
            "xhunter22hunter hunter22",
            "x[REDACTED:long] [REDACTED:short]",
        ),
        ({"inner": "cdefghij", "outer": "abcdefghijkl"}, "abcdefghijkl", "[REDACTED:outer]"),
        (
            {"first": "abcdefgh", "longer": "cdefghijklmnopqrstuvwxyz0123456789"},
            "-abcdefghijklmnopqrstuvwxyz0123456789-",
            "-[REDACTED:longer]-",
        ),
        ({"regex": "a.*b(c)+[d]\\e$^|?"}, "aXXb a.*b(c)+[d]\\e$^|?!", "aXXb [REDACTED:regex]!"),
        ({"one": "hunter22"}, "hunter22hunter22", "[REDACTED:one][REDACTED:one]"),
        (
            {"one": "geheimnis漢字", "two": "😀😀😀😀😀😀😀😀"},
            "é geheimnis漢字😀😀😀😀😀😀😀😀",
            "é [REDACTED:one][REDACTED:two]",
        ),
        ({"one": "line one\nline two"}, "line one\nline two, line one line two", "[REDACTED:one], line one line two"),
        ({"one": "HUNTER22"}, "hunter22", "hunter22"),
    ],
)
def test_secrets_are_literal_and_the_longest_goes_first(secrets: dict[str, str], text: str, expected: str) -> None:
    assert Redactor(secrets).text(text) == expected


@pytest.mark.parametrize("nasty", ["REDACTED", "[REDACTED", "[REDACTED:", "0190-id-of-the-other", "other]x[REDACTED"])
def test_a_secret_that_is_part_of_a_marker_leaves_markers_whole(nasty: str) -> None:
    redactor = Redactor({"0190-id-of-the-other": "correct horse", "nasty": nasty})
    once = redactor.text("say correct horse")
    assert once == "say [REDACTED:0190-id-of-the-other]"
    assert redactor.text(once) == once
    assert redactor.text(f"say {nasty} so") == "say [REDACTED:nasty] so"


def test_a_marker_that_names_no_known_secret_protects_nothing() -> None:
    redactor = Redactor({"one": "correct horse"})
    assert redactor.text("[REDACTED:correct horse]") == "[REDACTED:[REDACTED:one]]"
    assert Redactor({"one": "correct-horse"}).text("[REDACTED:correct-horse]") == "[REDACTED:[REDACTED:one]]"


def test_a_code_point_that_cannot_be_stored_is_no_obstacle() -> None:
    assert Redactor({"one": "hunter22"}).text("\ud800hunter22\udfff") == "\ud800[REDACTED:one]\udfff"


def test_json_is_redacted_in_strings_keys_and_numbers_at_any_depth() -> None:
    redactor = Redactor({"one": "hunter22", "pin": "31415926"})
    value: Json = {
        "hunter22": [{"deep": ["a hunter22 b", None, True, 7]}],
        "[REDACTED:one]": "hunter2",
        "pin": 31415926,
        "longer": 131415926.5,
    }
    assert redactor.json(value) == {
        "[REDACTED:one]": [{"deep": ["a [REDACTED:one] b", None, True, 7]}],
        "[REDACTED:one] (2)": "hunter2",
        "pin": "[REDACTED:pin]",
        "longer": "1[REDACTED:pin].5",
    }
    assert redactor.tags(["hunter22", "plain"]) == ["[REDACTED:one]", "plain"]


def test_who_knows_no_secret_changes_nothing() -> None:
    value: Json = {"a": ["b", 1.5]}
    assert NOTHING.json(value) is value
    assert NOTHING.text("[REDACTED:x]") == "[REDACTED:x]"


def test_many_secrets_cost_one_pass() -> None:
    """A text of a million characters, ten thousand secrets: with a pass for each this would take a minute."""
    redactor = Redactor({str(number): f"secret-number-{number:05d}" for number in range(10_000)})
    text = "nothing to see here, secret-number-" * 30_000 + "secret-number-04711"
    assert redactor.text(text).endswith("here, secret-number-[REDACTED:4711]")


def test_secrets_that_overlap_everywhere_cost_no_more() -> None:
    """A million letters in which each of 57 secrets begins nearly everywhere: 57 million occurrences, were all looked at."""
    redactor = Redactor({str(length): "a" * length for length in range(8, 65)})
    assert redactor.text("a" * 1_000_000 + "b").replace("[REDACTED:64]", "") == "b"
