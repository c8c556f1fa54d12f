"""Which memories are offered to a budget: of an atom and its episode the one that serves better, and never both."""

from __future__ import annotations

import pytest

from infinicon.domain import (
    ContextConstraints,
    IngestEpisode,
    MemoryFilters,
    MemoryType,
)
from infinicon.operations import gathering
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, digest
from tests.store.operations.contexts import FACTS, check, contents


def test_a_short_episode_stands_for_its_atoms(pipeline: Pipeline) -> None:
    text = "I was in the garden all day. Rosa moved to Turin. It rained in the end."
    pipeline.put(text, *FACTS)
    pipeline.drain()
    (segment,) = pipeline.assemble("Rosa moved to Turin.", max_segments=1).segments

    assert segment.content == text
    assert segment.ref.type is MemoryType.EPISODE
    assert segment.score == pytest.approx(pipeline.query("Rosa moved to Turin.", 1).hits[0].score)
    atoms = MemoryFilters(types=frozenset({MemoryType.ATOM}))
    assert contents(pipeline.assemble("Rosa moved to Turin.", max_segments=1, filters=atoms)) == [
        "Rosa moved to Turin."
    ]


LONG = " ".join(f"Sentence number {number} says nothing of it." for number in range(40))


def test_what_stands_for_an_atom_costs_once(pipeline: Pipeline) -> None:
    text = "I was in the garden all day. Rosa moved to Turin. It rained in the end."
    pipeline.put(text, *FACTS)
    pipeline.drain()
    total = pipeline.assemble("Rosa moved to Turin.").token_estimate
    exact = pipeline.assemble("Rosa moved to Turin.", total)

    check(exact)
    assert set(contents(exact)) == {text, *FACTS}
    assert not exact.truncated


def test_a_long_episode_gives_way_to_its_atoms_where_room_is_dear(pipeline: Pipeline) -> None:
    pipeline.put(LONG)
    pipeline.drain()

    dear = pipeline.assemble("Sentence number 7", 1_500)
    check(dear)
    assert len(dear.segments) == 40
    assert not dear.truncated
    ample = pipeline.assemble("Sentence number 7", 10_000)
    assert contents(ample) in ([LONG], contents(dear))
    check(pipeline.assemble("Sentence number 7", 300))


def test_a_long_episode_without_an_atom_near_it_is_taken_whole(pipeline: Pipeline) -> None:
    code = "\n".join(["frobnicate turbine"] * 60)
    pipeline.ingest(IngestEpisode("text/markdown", f"The cat sleeps on the sofa.\n\n```\n{code}\n```\n"))
    pipeline.put(*FACTS)
    pipeline.drain()
    context = pipeline.assemble("frobnicate turbine", 1_500)

    check(context)
    assert code in context.text


def test_a_long_episode_that_gave_way_to_nothing_is_offered_in_the_end(pipeline: Pipeline) -> None:
    """Its only atom near the task says what an excluded memory says. The rest of it is no double of that."""
    hum = "The turbine hums at night."
    code = "\n".join(f"adjust(valve, {number})" for number in range(60))
    (excluded, _) = pipeline.ingest(
        IngestEpisode("text/plain", hum), IngestEpisode("text/markdown", f"{hum}\n\n```\n{code}\n```\n")
    ).results
    pipeline.drain()
    context = pipeline.assemble(hum, 1_500, constraints=ContextConstraints(excluded=[excluded.ref]))

    check(context)
    assert code in context.text
    assert not context.truncated


def test_the_pool_grows_until_the_budget_is_full_or_all_is_in(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinicon.operations.ranking.POOL", 4)
    monkeypatch.setattr(gathering, "PATIENCE", 1)
    monkeypatch.setattr(gathering, "SIZING", 10_000)
    numbers = [f"Lantern number {number} hangs in the barn." for number in range(60)]
    pipeline.put(*numbers)
    pipeline.drain()

    everything = pipeline.assemble("lantern", 10_000)
    check(everything)
    assert set(contents(everything)) == set(numbers)
    assert not everything.truncated
    assert len(pipeline.assemble("lantern", 10_000, max_segments=59).segments) == 59


def test_an_atom_and_its_episode_never_both(pipeline: Pipeline) -> None:
    text = "Rosa moved to Turin. Her bicycle stayed in Lyon. The cat came along."
    pipeline.put(text)
    pipeline.drain()

    for task in (text, "Rosa moved to Turin.", "Where is the cat?"):
        context = pipeline.assemble(task)
        check(context)
        said = contents(context)
        assert said == [text] or text not in said
        assert sorted(" ".join(said).split()) == sorted(text.split())


def test_an_episode_that_is_too_long_keeps_its_atoms_not_out(pipeline: Pipeline) -> None:
    filler = " ".join(f"Sentence number {number} says nothing of it." for number in range(60))
    pipeline.put(f"Rosa moved to Turin. {filler}")
    pipeline.drain()
    context = pipeline.assemble("Sentence number says nothing of it, Rosa moved to Turin.", 60)

    check(context)
    assert context.segments
    assert all(segment.ref.type is MemoryType.ATOM for segment in context.segments)
    assert context.truncated


def consolidated(pipeline: Pipeline, *texts: str) -> str:
    """What one consolidation says that is made of these."""
    pipeline.put(*texts)
    pipeline.drain()
    Consolidations(pipeline, digest).run()
    return " ".join(sorted(texts))


def test_a_consolidation_and_what_it_is_made_of_are_never_both_there(pipeline: Pipeline) -> None:
    statements = ("Rosa lives in Lyon.", "Rosa moved to Turin.", "Rosa has a blue bicycle.")
    whole = consolidated(pipeline, *statements)

    for task in ("Rosa", "Rosa Lyon", "Rosa Lyon Turin bicycle blue lives moved", "What about the bicycle?"):
        for tokens in (20, 40, 60, 100, 1_000):
            said = [segment.content for segment in pipeline.assemble(task, tokens).segments]
            assert whole not in said or said == [whole], (task, tokens)


def test_a_consolidation_is_taken_where_it_ranks_first_and_what_it_does_not_say_beside_it(pipeline: Pipeline) -> None:
    whole = consolidated(pipeline, "Rosa lives in Lyon.", "Rosa moved to Turin.")
    pipeline.put("Rosa sings.")
    pipeline.drain()
    said = [segment.content for segment in pipeline.assemble("Rosa lives in Lyon. Rosa moved to Turin.").segments]

    assert sorted(said) == sorted([whole, "Rosa sings."])


def test_a_consolidation_that_is_not_wanted_does_not_keep_its_atoms_away(pipeline: Pipeline) -> None:
    statements = ("Rosa lives in Lyon.", "Rosa moved to Turin.")
    whole = consolidated(pipeline, *statements)
    (made,) = [hit.ref for hit in pipeline.query(whole).hits if hit.ref.type is MemoryType.CONSOLIDATION]
    context = pipeline.assemble(whole, constraints=ContextConstraints(excluded=[made]))

    assert sorted(segment.content for segment in context.segments) == list(statements)
