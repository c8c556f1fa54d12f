"""The built-in consolidator keeps the contract, and the suite finds out who does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count as numbers
from itertools import pairwise

import pytest

from infinicon.domain import MemoryType
from infinicon.plugins.consolidator import load
from infinicon.ports import (
    ConsolidationInput,
    Consolidator,
    Digest,
    Dispute,
    Duplicate,
    Plan,
    SourceMemory,
    Supersession,
)
from infinicon.settings import Settings
from infinicon.testing.consolidators import ConsolidatorSuite, check_plan, memories, request


class TestBuiltin(ConsolidatorSuite):
    extractive = True

    @pytest.fixture(scope="class")
    @classmethod
    def consolidator(cls) -> Consolidator:
        return load(Settings())


def _keys(asked: ConsolidationInput) -> list[str]:
    return sorted(one.key for one in asked.memories)


def _digest(asked: ConsolidationInput, **others: object) -> Plan:
    held = sorted(asked.memories, key=lambda one: one.key)[:2]
    sound = Digest("Harbour", held[0].content, [one.key for one in held])
    return Plan([replace(sound, **others)])  # type: ignore[arg-type] # fields of a digest by name


def _fold(*pairs: tuple[int, int]) -> Callable[[ConsolidationInput], Plan]:
    return lambda asked: Plan(duplicates=[Duplicate(_keys(asked)[a], _keys(asked)[b]) for a, b in pairs])


def _supersede(*pairs: tuple[int, int], reason: str = "changed") -> Callable[[ConsolidationInput], Plan]:
    return lambda asked: Plan(supersessions=[Supersession(_keys(asked)[a], _keys(asked)[b], reason) for a, b in pairs])


def _digest_of(**others: object) -> Callable[[ConsolidationInput], Plan]:
    return lambda asked: _digest(asked, **others)


LIES: dict[str, Callable[[ConsolidationInput], Plan]] = {
    "a digest without a word": _digest_of(content="... !!! ---"),
    "a digest that cannot be seen": _digest_of(content=" \u200b\n\t"),
    "a title without a word": _digest_of(title="... !!! ---"),
    "a source that is not there": _digest_of(sources=["key-00000", "elsewhere"]),
    "no source": _digest_of(sources=[]),
    "one source": _digest_of(sources=["key-00000"]),
    "one source twice": _digest_of(sources=["key-00000", "key-00000"]),
    "empty text": _digest_of(content=" \n"),
    "no title": _digest_of(title=" "),
    "over the budget": _digest_of(content="word " * 1_000),
    "words of its own": _digest_of(content="Ada: The harbour is lovely."),
    "replacing an atom": _digest_of(replaces=["key-00005"]),
    "replacing what is not there": _digest_of(replaces=["elsewhere"]),
    "the same replaced twice": lambda asked: Plan([*_digest(asked).digests, *_digest(asked).digests]),
    "folded twice": _fold((0, 1), (2, 1)),
    "kept and folded": _fold((0, 1), (1, 2)),
    "folded into itself": _fold((0, 0)),
    "superseded twice": _supersede((0, 1), (0, 2)),
    "superseded by itself": _supersede((0, 0)),
    "a cycle": _supersede((0, 1), (1, 2), (2, 0)),
    "no reason": _supersede((0, 1), reason=""),
    "a text for a reason": _supersede((0, 1), reason="The gate code of the harbour office " * 9),
    "superseded by what is not there": lambda asked: Plan(
        supersessions=[Supersession(_keys(asked)[0], "elsewhere", "changed")]
    ),
    "superseded and folded": lambda asked: Plan(
        supersessions=[Supersession("key-00000", "key-00001", "changed")],
        duplicates=[Duplicate("key-00002", "key-00000")],
    ),
    "superseded by what is folded": lambda asked: Plan(
        supersessions=[Supersession("key-00000", "key-00001", "changed")],
        duplicates=[Duplicate("key-00002", "key-00001")],
    ),
    "a dispute with itself": lambda asked: Plan(disputes=[Dispute("key-00000", "key-00000", "contradicts")]),
    "a dispute told twice": lambda asked: Plan(
        disputes=[Dispute("key-00000", "key-00001", "no"), Dispute("key-00001", "key-00000", "no")]
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_plan_that_lies_is_refused(lie: str) -> None:
    held = memories()
    if lie == "the same replaced twice":
        old = SourceMemory("old", MemoryType.CONSOLIDATION, held[0].content, held[0].created_at, sources=["key-00000"])
        asked = request([*held, old])
        plan = Plan([replace(one, replaces=["old"]) for one in LIES[lie](asked).digests])
    else:
        asked = request(held)
        plan = LIES[lie](asked)

    with pytest.raises(AssertionError):
        check_plan(asked, plan, extractive=True)


def test_a_plan_that_is_sound_passes() -> None:
    asked = request(memories())

    check_plan(asked, _digest(asked), extractive=True)
    check_plan(asked, _fold((0, 1), (0, 2))(asked))
    check_plan(asked, _supersede((0, 1), (1, 2))(asked))


class Liar:
    """Says that it is what it is not."""

    name = "liar"
    version = "1"
    deterministic = True

    def __init__(self, plan: Callable[[ConsolidationInput], Plan]) -> None:
        self._plan = plan

    def consolidate(self, request: ConsolidationInput) -> Plan:
        return self._plan(request)


def _first_given(asked: ConsolidationInput) -> Plan:
    """Depends on the order of the input."""
    if len(asked.memories) < 2:
        return Plan()
    return Plan(duplicates=[Duplicate(asked.memories[0].key, asked.memories[1].key)])


def _counting() -> Callable[[ConsolidationInput], Plan]:
    turn = numbers()
    return lambda asked: Plan(duplicates=[Duplicate("key-00000", f"key-{1 + next(turn) % 9:05}")])


def _always_a_digest(asked: ConsolidationInput) -> Plan:
    held: Sequence[SourceMemory] = [one for one in asked.memories if one.type is MemoryType.ATOM]
    return Plan([Digest("All", "All of it.", sorted(one.key for one in held))]) if held else Plan()


def _merging_all(asked: ConsolidationInput) -> Plan:
    keys = _keys(asked)
    return Plan(duplicates=[Duplicate(keys[0], key) for key in keys[1:]])


def _superseding_all(asked: ConsolidationInput) -> Plan:
    keys = _keys(asked)
    return Plan(supersessions=[Supersession(old, new, "changed") for old, new in pairwise(keys)])


def _failing_on_nothing(asked: ConsolidationInput) -> Plan:
    return Plan(duplicates=[Duplicate(asked.memories[0].key, asked.memories[1].key)])


def _spoiling(asked: ConsolidationInput) -> Plan:
    asked.vectors[:] = 0
    return Plan()


@pytest.mark.parametrize(
    ("test", "plan"),
    [
        ("test_the_order_of_the_input_means_nothing", _first_given),
        ("test_an_equal_input_has_an_equal_plan", _counting()),
        ("test_threads_do_not_disturb_each_other", _counting()),
        ("test_what_a_digest_holds_gives_no_second_one", _always_a_digest),
        ("test_one_memory_gives_the_empty_plan", _always_a_digest),
        ("test_other_subjects_leave_each_other_alone", _merging_all),
        ("test_of_a_statement_with_itself_nothing_is_superseded", _superseding_all),
        ("test_nothing_gives_the_empty_plan", _failing_on_nothing),
        ("test_the_input_is_left_as_it_was", _spoiling),
    ],
)
def test_a_consolidator_that_lies_fails(test: str, plan: Callable[[ConsolidationInput], Plan]) -> None:
    with pytest.raises((AssertionError, LookupError)):
        getattr(ConsolidatorSuite(), test)(Liar(plan))
