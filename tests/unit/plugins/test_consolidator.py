"""What holds for whatever is said: a plan that can be applied, the same for every order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from infinicon.plugins.consolidator import load
from infinicon.ports import SourceMemory
from infinicon.settings import Settings
from infinicon.testing.consolidators import START, canonical, check_plan, is_empty, memories, request

WORDS = """
    the my Rosa Rome Turin gate code budget deadline is was now not never no longer lives in moved to from work at I we $500 $700 4711 4712
    May 5 Monday Tuesday seven increased new of red blue 会议 and but if said ? . ,
    """.split()
STATEMENTS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
CONSOLIDATOR = load(Settings())


@st.composite
def scopes(draw: st.DrawFn) -> list[SourceMemory]:
    texts = draw(st.lists(st.tuples(st.sampled_from(["ada", "bob", None]), STATEMENTS), max_size=12))
    held = memories(texts)
    return [
        replace(one, fresh=draw(st.booleans()), occurred_at=START + timedelta(days=draw(st.integers(0, 3))))
        for one in held
    ]


@given(scopes(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_a_plan_can_be_applied_and_the_order_means_nothing(held: list[SourceMemory], chance: Random) -> None:
    asked = request(held)
    plan = CONSOLIDATOR.consolidate(asked)
    other = held[:]
    chance.shuffle(other)

    check_plan(asked, plan, extractive=True)
    assert canonical(CONSOLIDATOR.consolidate(request(other))) == canonical(plan)


@given(scopes())
@settings(max_examples=60, deadline=None)
def test_what_is_superseded_is_older_and_of_the_same_voice(held: list[SourceMemory]) -> None:
    by_key = {one.key: one for one in held}

    for one in CONSOLIDATOR.consolidate(request(held)).supersessions:
        old, new = by_key[one.old], by_key[one.new]
        assert (old.occurred_at or old.created_at) < (new.occurred_at or new.created_at)
        assert old.speaker == new.speaker


@given(scopes())
@settings(max_examples=60, deadline=None)
def test_where_nothing_is_fresh_nothing_is_planned(held: list[SourceMemory]) -> None:
    assert is_empty(CONSOLIDATOR.consolidate(request([replace(one, fresh=False) for one in held])))
