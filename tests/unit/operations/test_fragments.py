"""What is looked for of a text, and what counts as the same."""

from __future__ import annotations

import json
import unicodedata

import pytest

from infinicon.operations.fragments import WINDOW, cut, form, fragments, raw_form, readings, windows

SAID = 'My "pin" is 4921 at Café Zoë.\nAnn\'s is 4711, she said.'


@pytest.mark.parametrize(
    "stored",
    [
        SAID.upper(),
        SAID.replace("\n", "\r\n"),
        SAID.replace(" ", " \u00a0 "),
        unicodedata.normalize("NFD", SAID),
        SAID.replace("pin", "**pin**").replace("Ann", "_Ann_"),
        SAID.replace("'", "\u2019").replace('"', "\u201c"),
        SAID.replace("is", "i\u00ads"),
        f"[Ann, 2025-01-01] {SAID}",
        json.dumps({"note": SAID}),
        json.dumps({"note": SAID}, ensure_ascii=False, separators=(",", ":")),
        json.dumps({"message": json.dumps({"note": SAID})}),
    ],
)
def test_what_counts_as_the_same(stored: str) -> None:
    assert any(form(SAID) in form(reading) for reading in readings(stored))


def test_other_words_are_others() -> None:
    assert form("My PIN is 4921.") != form("My PIN is 4922.")
    assert form("!?") == ""


def test_sentences_however_short() -> None:
    found = fragments(
        "My PIN is 4921. Ann is very ill! Yes. I am ill.\nDr. No left\r\n\r\n他病得很重。我的密码是四九二一。"
    )
    assert found.parts == ["My PIN is 4921.", "Ann is very ill!", "他病得很重。", "我的密码是四九二一。"]
    assert found.short == 2  # I am ill, No left; but for single words


def test_the_values_of_json() -> None:
    text = json.dumps(
        {"a": ['My "pin" is 4921. Zoë is ill, too.', {"b": json.dumps({"c": "deep down it is"})}], "n": 12345678}
    )
    found = fragments(text)
    assert {"Zoë is ill, too.", 'My "pin" is 4921.', "deep down it is", "12345678"} <= set(found.parts)
    assert found.short == 0
    assert fragments('{"pin": "4921", "on": true}').short == 1
    assert fragments('{"pin": "4921 and no').parts == ['{"pin": "4921 and no']  # no JSON


def test_escapes_without_a_document() -> None:
    assert form('My "pin" is\n4921, caf\u00e9 \U0001f600') == form(
        [*readings(r"My \"pin\" is\n4921, caf\u00e9 \ud83d\ude00")][-1]
    )
    assert [*readings(r"half \ud83d of it")][-1] == "half  of it"
    assert [*readings("C:\\temp is \\ it")][-1].startswith("C:")


def test_too_little_says_nothing() -> None:
    assert fragments("I am ill.").whole == []
    assert fragments("他病得很重").whole == ["他病得很重"]


def test_long_ones_are_cut() -> None:
    text = "word " * 100
    assert b"".join(windows(text)) == form(text).encode()
    assert {WINDOW <= len(piece) < 2 * WINDOW for piece in windows(text)} == {True}
    assert cut(b"short") == [b"short"]
    assert raw_form('My "PIN"\nis\0 4921, é'.encode()) == "mypinis4921é".encode()
