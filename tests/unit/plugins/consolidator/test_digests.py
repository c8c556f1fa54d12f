"""Topic groups: what becomes a digest, what it holds, and when there is another."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from infinicon.domain import MemoryType
from infinicon.ports import Digest, SourceMemory
from tests.unit.plugins.consolidator.talk import START, atom, consolidated

HARBOUR = (
    "The harbour gate is painted in bright blue.",
    "The harbour office lies behind the painted gate.",
    "Visitors of the harbour office ring at the gate.",
    "The harbour gate has a brass lock and a bell.",
)
BREAD = ("Rye bread needs a long rest before baking.", "The bread dough with rye rests for nine hours.")
NEAR, FAR = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]


def _vectors(count: int, at: list[float] = NEAR) -> list[list[float]]:
    return [[*at[:3], 0.1 * number] for number in range(count)]


def _held(digest: Digest, at: int = 50) -> SourceMemory:
    when = START + timedelta(days=at)
    return SourceMemory(
        f"d{at}",
        MemoryType.CONSOLIDATION,
        digest.content,
        when,
        title=digest.title,
        sources=digest.sources,
        fresh=False,
    )


def test_a_topic_becomes_a_digest_of_its_sentences_in_order_of_time() -> None:
    held = [atom(text, at) for at, text in enumerate(HARBOUR)]

    (digest,) = consolidated(held, _vectors(4)).digests

    assert digest.content.split("\n") == [f"ada: {text}" for text in HARBOUR]
    assert digest.sources == ["m0", "m1", "m2", "m3"]
    assert "arbour" in digest.title
    assert not digest.replaces


def test_the_budget_is_kept_and_who_is_left_out_is_no_source() -> None:
    held = [atom(text, at) for at, text in enumerate(HARBOUR)]

    (digest,) = consolidated(held, _vectors(4), budget=120).digests

    assert len(digest.content) <= 120
    assert len(digest.sources) == len(digest.content.split("\n")) == 2


def test_the_budget_is_kept_in_the_order_in_which_the_lines_are_written() -> None:
    """A counter to which the last line matters, as it does to o200k_base: ".\\n" is one token, and a "." at the end another."""
    held = [atom(text, at) for at, text in enumerate(HARBOUR)]

    def count(text: str) -> int:
        return len(text) + 30 * text.endswith(HARBOUR[3])

    made = [consolidated(held, _vectors(4), budget, count).digests for budget in range(90, 240)]

    assert all(
        count(digest.content) <= budget for budget, found in zip(range(90, 240), made, strict=True) for digest in found
    )
    assert sum(map(len, made)) > 100


def test_what_fits_no_two_sentences_is_no_digest() -> None:
    assert not consolidated([atom(text, at) for at, text in enumerate(HARBOUR)], _vectors(4), budget=50).digests


def test_other_topics_stay_apart() -> None:
    held = [atom(text, at) for at, text in enumerate([*HARBOUR, *BREAD])]

    digests = consolidated(held, [*_vectors(4), *_vectors(2, FAR)]).digests

    assert [digest.sources for digest in digests] == [["m0", "m1", "m2", "m3"]]  # Two of a kind are no topic yet.


@pytest.mark.parametrize("fresh", [True, False])
def test_nothing_new_gives_no_second_digest(fresh: bool) -> None:
    held = [atom(text, at) for at, text in enumerate(HARBOUR)]
    first = consolidated(held, _vectors(4)).digests[0]

    again = consolidated([*[replace(one, fresh=fresh) for one in held], _held(first)], [*_vectors(4), NEAR])

    assert not again.digests


def test_what_is_new_replaces_the_digest_and_carries_its_sources_on() -> None:
    held = [atom(text, at) for at, text in enumerate(HARBOUR)]
    first = consolidated(held[:3], _vectors(3)).digests[0]
    before = [replace(one, fresh=False) for one in held[:3]]

    (digest,) = consolidated([*before, held[3], _held(first)], [*_vectors(4), NEAR]).digests

    assert digest.replaces == ["d50"]
    assert digest.sources == ["m0", "m1", "m2", "m3"]


def test_a_digest_of_what_holds_no_more_is_made_again_without_it() -> None:
    texts = ["The harbour gate code is 4711.", *HARBOUR[:2]]
    held = [replace(atom(text, at), fresh=False) for at, text in enumerate(texts)]
    old = _held(Digest("Harbour", "\n".join(texts), ["m0", "m1", "m2"]))
    changed = atom("The harbour gate code is now 4712.", 3)

    plan = consolidated([*held, changed, old], [*_vectors(3), FAR, NEAR])

    assert [(one.old, one.new) for one in plan.supersessions] == [("m0", "m3")]
    assert [(one.sources, one.replaces) for one in plan.digests] == [(["m1", "m2"], ["d50"])]
    assert "4711" not in plan.digests[0].content


def test_questions_greetings_and_announcements_are_no_digest() -> None:
    held = [
        atom(text, at)
        for at, text in enumerate(
            ["Where is the harbour gate of Rosa?", "Hello harbour!", "Here is the harbour gate code:", "Yes."]
        )
    ]

    assert not consolidated(held, _vectors(4)).digests


def test_of_a_long_text_a_digest_holds_a_sentence() -> None:
    long = (
        "Nothing to see in this part of the text. " * 30
        + "The harbour gate is closed at night by Rosa. "
        + "And so it goes on. " * 40
    )
    held = [*[atom(text, at) for at, text in enumerate(HARBOUR)], atom(long, 4)]

    (digest,) = consolidated(held, _vectors(5)).digests

    assert digest.content.split("\n")[-1] == "ada: The harbour gate is closed at night by Rosa."
