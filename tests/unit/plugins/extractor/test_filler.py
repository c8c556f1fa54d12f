"""What says nothing, and what only looks like it."""

from __future__ import annotations

import pytest

from infinicon.plugins.extractor.filler import is_filler, says_nothing


@pytest.mark.parametrize(
    "sentence",
    [
        "Okay.", "Roger.", "Uh huh", "Thanks!", "Copy that.", "Say again?", "OK", "Mm-hmm.", "Okay. Stand by 1.", "Thank you very much.",
        "Hi Caroline!", "Thanks, Jim.", "Hey Mel!", "Good morning, Houston.",
        "...", "- -", "😊", "!?", "好的。", "ありがとう", "You’re welcome.",
    ],
)  # fmt: skip
def test_filler(sentence: str) -> None:
    assert is_filler(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "P11, Jim.", "Okay, P11.", "No.", "Yes.", "Thanks for the confidence.", "Copy the gate code.", "Go ahead and open it.",
        "42", "Rome.", "Roger, 100 psi.", "Good news.", "I see a light.", "Out of fuel.", "我去北京。", "Hi there is a leak",
        "Okay Tuesday",
    ],
)  # fmt: skip
def test_content(sentence: str) -> None:
    assert not is_filler(sentence)


def test_an_answer_alone_says_nothing_but_is_no_filler_beside_a_claim() -> None:
    assert says_nothing("Yes. No, okay.")
    assert says_nothing("That's affirmative.")
    assert not says_nothing("No. I like it.")


@pytest.mark.parametrize("claim", ["After", "And the", "brb.", "(Music)", "Sent from my iPhone"])
def test_left_overs_say_nothing(claim: str) -> None:
    assert is_filler(claim) or says_nothing(claim)


@pytest.mark.parametrize(
    "claim", ["Jack", "He was there.", "Sent from my desk were three letters to the whole of the town."]
)
def test_what_may_say_something_stays(claim: str) -> None:
    assert not is_filler(claim)
    assert not says_nothing(claim)
