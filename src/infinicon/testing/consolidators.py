"""What every consolidator must keep. In a test module:

class TestMine(ConsolidatorSuite):
    extractive = False  # its digests have words of their own

    @pytest.fixture(scope="class")
    @classmethod
    def consolidator(cls): return MyConsolidator()

`check_plan` says of one input and its plan what the runtime would refuse; use it on inputs of your own as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from infinicon.domain import MemoryType
from infinicon.ports import ConsolidationInput, Consolidator, Plan, SourceMemory
from infinicon.testing.extractors import fastest

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
DIMENSION = 32
BUDGET = 60
TALK = (
    ("Ada", "The gate code of the harbour office is 4711."),
    ("Ada", "The harbour office opens at nine in the morning."),
    ("Ada", "The harbour office lies behind the old gate."),
    ("Ada", "The gate of the harbour office is painted blue."),
    ("Ada", "The gate code of the harbour office is 4711!"),
    ("Ada", "The gate code of the harbour office is now 4712."),
    ("Rosa", "I live in Rome."),
    ("Rosa", "I moved to Turin in May."),
    ("Bo", "The boiler moved to the cellar."),
    ("Bo", "The window of the cellar is open."),
    ("Bo", "The window of the cellar is not open."),
    ("Bo", "Would you move to Lyon?"),
    (None, "Die Sitzung beginnt um neun Uhr im Hafenbüro."),
    (None, "会議は梅の間で行います。"),
    (None, "La réunion est à Nîmes, et non à Lyon."),
)
HOSTILE = (
    "",
    " ",
    "\x00",
    "\u200b",
    "\n\n\n",
    "?",
    "not not not not",
    "now now now 7 7 7",
    "I I I I I",
    "e" + "\u0301" * 2_000,
    "👩\u200d" * 2_000,
    "[" * 5_000,
    "“" * 5_000,
    "tail \ud83d end",
    "a" * 100_000,
    "word " * 20_000,
    "中" * 50_000,
    "The budget is now 7. " * 3_000,
)


def count(text: str) -> int:
    """The counter of the suite: words, and an eighth of the characters, whichever is more."""
    return max(len(text.split()), len(text) // 8)


def memories(texts: Sequence[tuple[str | None, str]] = TALK) -> list[SourceMemory]:
    """One atom for each, an hour apart."""
    return [
        SourceMemory(
            f"key-{at:05}",
            MemoryType.ATOM,
            text,
            START + timedelta(hours=at),
            occurred_at=START + timedelta(hours=at),
            speaker=speaker,
        )
        for at, (speaker, text) in enumerate(texts)
    ]


def vectors(texts: Sequence[str]) -> NDArray[np.float16]:
    """Unit rows by the words that texts have in common: no model, and still near where the words are."""
    rows = np.zeros((len(texts), DIMENSION), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text[:2_000].casefold().split():
            row[hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=1).digest()[0] % DIMENSION] += 1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float16] = (rows / np.maximum(lengths, 1.0)).astype(np.float16)
    return found


def request(held: Sequence[SourceMemory], budget: int = BUDGET) -> ConsolidationInput:
    return ConsolidationInput(held, vectors([one.content for one in held]), budget, count)


def check_plan(asked: ConsolidationInput, plan: Plan, *, extractive: bool = False) -> None:
    """What the runtime asks of a plan. `extractive`: digests hold nothing but text of their sources."""
    held = {one.key: one for one in asked.memories}
    _check_retired(held, plan)
    for digest in plan.digests:
        assert len(set(digest.sources)) == len(digest.sources) >= 2, "a digest has two sources at least, each once"
        assert held.keys() >= {*digest.sources, *digest.replaces}, "every key is one of the input"
        assert all(held[key].type is MemoryType.CONSOLIDATION for key in digest.replaces), "it replaces consolidations"
        assert not set(digest.sources) & set(digest.replaces), "what it replaces is no source of it"
        assert any(character.isalnum() for character in digest.content), "a digest says something, in letters or digits"
        assert any(character.isalnum() for character in digest.title), "a digest has a title, in letters or digits"
        assert len(digest.content) <= 128 * asked.token_budget, (
            "a digest is no longer than 128 characters for each token of its budget"
        )
        assert asked.count(digest.content) <= asked.token_budget, "a digest keeps to the budget"
        if extractive:
            _check_extractive(digest.content, [held[key] for key in digest.sources])
    replaced = [key for digest in plan.digests for key in digest.replaces]
    assert len(replaced) == len(set(replaced)), "an earlier consolidation is replaced once"


def _check_retired(held: dict[str, SourceMemory], plan: Plan) -> None:
    links = [(one.old, one.new) for one in plan.supersessions]
    folds = [(one.folded, one.kept) for one in plan.duplicates]
    named = [key for pair in (*links, *folds) for key in pair]
    named += [key for one in plan.disputes for key in (one.first, one.second)]
    assert held.keys() >= set(named), "every key is one of the input"
    retired = [old for old, _ in (*links, *folds)]
    assert len(retired) == len(set(retired)), "nothing is retired twice"
    assert not {kept for _, kept in folds} & {folded for folded, _ in folds}, "nothing is both kept and folded"
    assert not any(new in dict(folds) for _, new in links), "what supersedes is not folded itself"
    assert all(one.first != one.second for one in plan.disputes), "nothing disputes itself"
    disputes = [frozenset((one.first, one.second)) for one in plan.disputes]
    assert len(disputes) == len(set(disputes)), "a pair is disputed once"
    following = dict((*links, *folds))
    for start in following:
        at, steps = start, 0
        while at in following:
            at, steps = following[at], steps + 1
            assert steps <= len(following), "nothing takes, in the end, its own place"
    for reason in [*(one.reason for one in plan.supersessions), *(one.reason for one in plan.disputes)]:
        assert reason.strip(), "there is a reason"
        assert len(reason) <= 100, "a reason is a word, and no text of a memory"


def _check_extractive(content: str, sources: Sequence[SourceMemory]) -> None:
    flat = [" ".join(one.content.split()) for one in sources]
    speakers = {one.speaker for one in sources if one.speaker}
    for line in content.split("\n"):
        speaker, _, said = line.partition(": ")
        said = " ".join((said if speaker in speakers else line).split())
        assert any(said in text for text in flat), "every line of a digest is in one of its sources"


class ConsolidatorSuite:
    """Subclass it and provide the fixture `consolidator`."""

    extractive: ClassVar[bool] = False
    """Set it where digests have no words but those of their sources."""

    @pytest.fixture
    def consolidator(self) -> Consolidator:
        raise NotImplementedError("provide the fixture `consolidator`")

    def test_it_has_a_name_and_a_version(self, consolidator: Consolidator) -> None:
        assert consolidator.name
        assert consolidator.version
        assert isinstance(consolidator.deterministic, bool)

    def test_nothing_gives_the_empty_plan(self, consolidator: Consolidator) -> None:
        assert is_empty(consolidator.consolidate(request([])))

    def test_one_memory_gives_the_empty_plan(self, consolidator: Consolidator) -> None:
        assert is_empty(consolidator.consolidate(request(memories()[:1])))

    @pytest.mark.parametrize("budget", [1, BUDGET, 10_000])
    def test_a_plan_can_be_applied(self, consolidator: Consolidator, budget: int) -> None:
        asked = request(memories(), budget)

        check_plan(asked, consolidator.consolidate(asked), extractive=self.extractive)

    def test_many_of_one_topic_keep_to_the_budget(self, consolidator: Consolidator) -> None:
        asked = request(
            memories([("Ada", f"The harbour gate number {at} is painted in blue colour.") for at in range(80)])
        )

        check_plan(asked, consolidator.consolidate(asked), extractive=self.extractive)

    def test_of_a_statement_with_itself_nothing_is_superseded(self, consolidator: Consolidator) -> None:
        asked = request(memories([("Ada", "The gate code is 4711.")] * 6))
        plan = consolidator.consolidate(asked)

        check_plan(asked, plan, extractive=self.extractive)
        assert not plan.supersessions
        assert not plan.disputes

    def test_other_subjects_leave_each_other_alone(self, consolidator: Consolidator) -> None:
        plan = consolidator.consolidate(
            request(memories([("Ada", "Rosa moved to Turin."), ("Ada", "The boiler moved to the cellar.")]))
        )

        assert not plan.supersessions
        assert not plan.disputes
        assert not plan.duplicates

    def test_the_order_of_the_input_means_nothing(self, consolidator: Consolidator) -> None:
        if not consolidator.deterministic:
            pytest.skip("it does not claim to be deterministic")
        held = memories()
        expected = canonical(consolidator.consolidate(request(held)))

        for order in (held[::-1], held[7:] + held[:7], sorted(held, key=lambda one: one.content)):
            assert canonical(consolidator.consolidate(request(order))) == expected

    def test_an_equal_input_has_an_equal_plan(self, consolidator: Consolidator) -> None:
        if not consolidator.deterministic:
            pytest.skip("it does not claim to be deterministic")

        first, second = (consolidator.consolidate(request(memories())) for _ in range(2))

        assert canonical(first) == canonical(second)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_text_is_read(self, consolidator: Consolidator, text: str) -> None:
        asked = request(memories([*TALK[:5], (None, text), (None, text), ("Ada", text)]))

        check_plan(asked, consolidator.consolidate(asked), extractive=self.extractive)

    @pytest.mark.parametrize("value", [0.0, 1.0, np.nan, np.inf, -np.inf])
    def test_vectors_that_say_nothing_are_borne(self, consolidator: Consolidator, value: float) -> None:
        held = memories()
        asked = replace(request(held), vectors=np.full((len(held), DIMENSION), value, np.float16))

        check_plan(asked, consolidator.consolidate(asked), extractive=self.extractive)

    def test_times_with_and_without_a_zone_are_borne(self, consolidator: Consolidator) -> None:
        held = memories()
        for at in range(0, len(held), 2):
            held[at] = replace(held[at], occurred_at=None, created_at=held[at].created_at.replace(tzinfo=None))
        asked = request(held)

        check_plan(asked, consolidator.consolidate(asked), extractive=self.extractive)

    def test_the_input_is_left_as_it_was(self, consolidator: Consolidator) -> None:
        held = memories()
        asked = request(held)
        before = asked.vectors.copy()

        consolidator.consolidate(asked)

        assert held == memories()
        assert np.array_equal(asked.vectors, before)

    def test_what_a_digest_holds_gives_no_second_one(self, consolidator: Consolidator) -> None:
        held = memories()
        digests = consolidator.consolidate(request(held)).digests
        held += [
            SourceMemory(
                f"digest-{at}",
                MemoryType.CONSOLIDATION,
                digest.content,
                START + timedelta(days=2),
                title=digest.title,
                sources=digest.sources,
            )
            for at, digest in enumerate(digests)
        ]
        again = consolidator.consolidate(request(held)).digests

        known = {frozenset(digest.sources) for digest in digests}
        assert not [digest for digest in again if frozenset(digest.sources) in known]

    def test_threads_do_not_disturb_each_other(self, consolidator: Consolidator) -> None:
        if not consolidator.deterministic:
            pytest.skip("it does not claim to be deterministic")
        expected = canonical(consolidator.consolidate(request(memories())))

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: canonical(consolidator.consolidate(request(memories()))), range(16)))

        assert found == [expected] * 16

    def test_time_grows_with_length_and_not_its_square(self, consolidator: Consolidator) -> None:
        def work(size: int) -> Callable[[], object]:
            asked = request(memories([*TALK, (None, "The budget is now 7. " * size)]))
            return lambda: consolidator.consolidate(asked)

        # Eight times the text takes 64 times as long where time grows with the square.
        assert fastest(work(8_000)) < 30 * max(fastest(work(1_000)), 1e-3)


def is_empty(plan: Plan) -> bool:
    return not (plan.digests or plan.supersessions or plan.disputes or plan.duplicates)


def canonical(plan: Plan) -> object:
    """A plan as it is compared: lists in an order of their own, and the two of a dispute in either order."""
    return (
        sorted((one.title, one.content, sorted(one.sources), sorted(one.replaces)) for one in plan.digests),
        sorted((one.old, one.new, one.reason) for one in plan.supersessions),
        sorted((*sorted((one.first, one.second)), one.reason) for one in plan.disputes),
        sorted((one.kept, one.folded) for one in plan.duplicates),
    )
