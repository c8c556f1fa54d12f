"""query: what fits best comes first, from the scope that was named and from nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from infinicon.domain import IngestEpisode, MemoryType, Permission, QueryReply, Scope
from infinicon.errors import Unauthorized
from infinicon.operations.dispatch import LaneLimits
from infinicon.ports import Vectors
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder

FACTS = (
    "The heron flew over the bay at dawn.",
    "A lighthouse blinked twice in the fog.",
    "Rosa moved from Lisbon to Turin in May.",
    "The boiler in the cellar makes a noise.",
    "Nobody has seen the spare key since Sunday.",
    "The train to the coast leaves at seven.",
)


class Blind(WordEmbedder):
    """All texts are alike to it: what is found is found by words."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = np.zeros((len(texts), 64), np.float16)
        vectors[:, 0] = 1
        return vectors


def ids(reply: QueryReply) -> list[tuple[object, float]]:
    return [(hit.ref.id, hit.score) for hit in reply.hits]


def test_limit_and_order(pipeline: Pipeline) -> None:
    pipeline.put(*FACTS)
    pipeline.drain()

    for fact in FACTS:
        for limit in (1, 3, 6, 100):
            reply = pipeline.query(fact, limit)
            scores = [hit.score for hit in reply.hits]
            assert len(reply.hits) == min(limit, len(FACTS))
            assert scores == sorted(scores, reverse=True)
            assert len({hit.ref.id for hit in reply.hits}) == len(reply.hits)
        assert pipeline.found(fact, 1) == [fact]


def test_the_same_question_has_the_same_answer(pipeline: Pipeline) -> None:
    pipeline.put(*FACTS, *[f"Of equal rank is number {number}." for number in range(30)])
    pipeline.drain()

    for question in ("equal rank", "the heron", "nothing of all this"):
        answers = [ids(pipeline.query(question, 20)) for _ in range(20)]
        assert all(answer == answers[0] for answer in answers)
        assert len(answers[0]) == 20


def test_of_equals_the_newest_comes_first(pipeline: Pipeline) -> None:
    pipeline.embedder = Blind()
    order = ["b", "d", "a", "c"]
    for session in order:
        pipeline.put("Equal words.", scope=pipeline.scope(session=session))
        pipeline.drain()

    hits = pipeline.query("equal words").hits
    assert len({hit.score for hit in hits}) == 1
    assert [hit.ref.scope.session_id for hit in hits] == order[::-1]


def test_a_longer_list_begins_with_the_shorter_one(pipeline: Pipeline) -> None:
    pipeline.put(*FACTS, *[f"The bay has number {number} of its boats." for number in range(60)])
    pipeline.drain()

    full = ids(pipeline.query("boats in the bay", 66))
    assert len(full) == 66
    for limit in (1, 2, 5, 20, 50):
        assert ids(pipeline.query("boats in the bay", limit)) == full[:limit]


def test_words_alone_and_meaning_alone(pipeline: Pipeline) -> None:
    pipeline.put(*FACTS)
    pipeline.drain()

    # Another word than "boiler" to the embedder, the same one to the lexemes.
    assert len([hit for hit in pipeline.query("boilers").hits if "boiler" in hit.reason]) == 1
    (by_meaning, *_) = pipeline.query("to the at").hits  # stop words: to the lexemes there are none in the texts
    assert "similar in meaning" in by_meaning.reason
    pipeline.embedder = Blind()
    elsewhere = pipeline.scope("elsewhere")
    pipeline.put(*FACTS, scope=elsewhere)
    pipeline.drain()
    assert pipeline.found("boilers", 1, elsewhere) == [FACTS[3]]


def test_agent_and_session_narrow(pipeline: Pipeline) -> None:
    scopes = {
        name: pipeline.scope(agent=agent, session=session)
        for name, agent, session in (
            ("none", None, None),
            ("a", "a", None),
            ("as", "a", "s"),
            ("at", "a", "t"),
            ("bs", "b", "s"),
            ("s", None, "s"),
        )
    }
    for name, scope in scopes.items():
        pipeline.put(f"The heron belongs to {name}.", scope=scope)
    pipeline.drain()

    def found(scope: Scope) -> set[str]:
        return {str(content).split()[-1].rstrip(".") for content in pipeline.found("the heron belongs", 20, scope)}

    assert found(pipeline.scope()) == set(scopes)
    assert found(pipeline.scope(agent="a")) == {"a", "as", "at"}
    assert found(pipeline.scope(session="s")) == {"as", "bs", "s"}
    assert found(pipeline.scope(agent="a", session="s")) == {"as"}
    assert found(pipeline.scope(agent="b", session="t")) == set()
    assert found(pipeline.scope(agent="A")) == set()
    for hit in pipeline.query("the heron belongs", 20, pipeline.scope(agent="a")).hits:
        assert hit.ref.scope.agent_id == "a"
        assert {source.scope for source in hit.sources} == {hit.ref.scope}


def test_words_of_another_agent_are_not_seen_with_a_blind_model(pipeline: Pipeline) -> None:
    pipeline.embedder = Blind()
    pipeline.put("The heron belongs to a.", scope=pipeline.scope(agent="a"))
    pipeline.put("The tide belongs to b.", scope=pipeline.scope(agent="b"))
    pipeline.drain()

    (hit,) = pipeline.query("heron", scope=pipeline.scope(agent="b")).hits
    assert "heron" not in hit.reason


def test_namespaces_and_tenants_are_apart(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    other = new_pipeline()
    pipeline.put(FACTS[0], scope=pipeline.scope("one"))
    pipeline.put(FACTS[1], scope=pipeline.scope("two"))
    pipeline.drain()
    other.put(FACTS[2], scope=other.scope("one"))
    other.drain()

    question = "heron lighthouse Rosa"
    assert pipeline.found(question, scope=pipeline.scope("one")) == [FACTS[0]]
    assert pipeline.found(question, scope=pipeline.scope("two")) == [FACTS[1]]
    assert other.found(question, scope=other.scope("one")) == [FACTS[2]]
    assert other.query(question, scope=other.scope("two")).hits == []


def test_an_unknown_namespace_is_empty_and_is_not_made(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.query("anything", scope=pipeline.scope("unknown"))

    assert (list(reply.hits), list(reply.warnings)) == ([], [])
    assert sql("SELECT count(*) FROM namespaces WHERE tenant = %s", pipeline.caller.tenant) == [(0,)]


def test_who_may_ask(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(FACTS[0], scope=pipeline.scope("mine"))
    pipeline.put(FACTS[0], scope=pipeline.scope("other"))
    pipeline.drain()
    ((mine,),) = sql("SELECT id FROM namespaces WHERE tenant = %s AND name = 'mine'", pipeline.caller.tenant)
    everything = pipeline.caller
    for caller, scope in (
        (
            replace(everything, permissions=frozenset(set(Permission) - {Permission.QUERY, Permission.ADMIN})),
            pipeline.scope("mine"),
        ),
        (everything, Scope("another tenant", "mine")),
        (replace(everything, namespaces=frozenset({mine})), pipeline.scope("other")),
        (replace(everything, namespaces=frozenset({mine})), pipeline.scope("unknown")),
        (replace(everything, namespaces=frozenset()), pipeline.scope("mine")),
    ):
        pipeline.caller = caller
        with pytest.raises(Unauthorized):
            pipeline.query("heron", scope=scope)
    pipeline.caller = replace(
        everything, namespaces=frozenset({mine}), permissions=frozenset({Permission.QUERY, Permission.HYDRATE})
    )
    assert pipeline.found("heron", scope=pipeline.scope("mine")) == [FACTS[0]]


def test_an_atom_and_its_episode_are_never_both_there(pipeline: Pipeline) -> None:
    texts = [f"{first} {second}" for first in FACTS[:3] for second in FACTS[3:]]
    pipeline.put(*texts)
    pipeline.drain()

    for question in (*FACTS, *texts, "the", "heron lighthouse boiler"):
        hits = pipeline.query(question, 100).hits
        episodes = {hit.ref.id for hit in hits if hit.ref.type is MemoryType.EPISODE}
        sources = {source.id for hit in hits for source in hit.sources}
        assert episodes.isdisjoint(sources)
        assert hits


def test_nor_are_they_where_an_atom_has_many_episodes(pipeline: Pipeline, sql: Sql) -> None:
    """More than are listed as its sources."""
    for number in range(15):
        pipeline.put(f"The heron flew over the bay. And this is remark number {number}.")
        pipeline.drain()

    hits = pipeline.query("heron flew over the bay", 100).hits
    shown = [hit.ref.id for hit in hits]
    pairs = sql(
        "SELECT from_id, to_id FROM links WHERE tenant = %s AND from_id = ANY(%s) AND to_id = ANY(%s)",
        pipeline.caller.tenant,
        shown,
        shown,
    )
    assert pairs == []
    (atom,) = [hit for hit in hits if len(hit.sources) > 1]
    assert len(atom.sources) == 8
    assert [source.id for source in atom.sources] == sorted((source.id for source in atom.sources), reverse=True)


def test_what_has_expired_is_hidden(pipeline: Pipeline, sql: Sql) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    pipeline.ingest(
        IngestEpisode("text/plain", "The heron flew. It came back.", expires_at=soon),
        IngestEpisode("text/plain", "The heron stays."),
    )
    pipeline.drain()
    assert len(pipeline.found("heron")) == 3
    sql("UPDATE memories SET expires_at = now() WHERE tenant = %s AND expires_at IS NOT NULL", pipeline.caller.tenant)

    assert pipeline.found("heron") == ["The heron stays."]
    assert len(pipeline.query("heron").hits) == 1


@pytest.mark.parametrize("status", ["tombstoned", "superseded", "disputed", "failed", "pending"])
def test_only_what_is_active_is_found(pipeline: Pipeline, sql: Sql, status: str) -> None:
    pipeline.put("The heron flew.", "The heron stays.")
    pipeline.drain()
    sql(
        "UPDATE memories SET status = %s WHERE tenant = %s AND content = 'The heron flew.'",
        status,
        pipeline.caller.tenant,
    )

    assert pipeline.found("heron flew") == ["The heron stays."]
    assert len(pipeline.query("heron flew").hits) == 1


def test_filters_match_by_containment(pipeline: Pipeline) -> None:
    given: list[dict[str, object]] = [
        {"project": "red", "team": {"lead": "Anna", "size": 3}},
        {"project": "red", "team": {"lead": "Bert"}},
        {"project": "blue"},
    ]
    for number, filters in enumerate(given):
        pipeline.put(f"Heron number {number}.", scope=pipeline.scope(filters=filters))  # type: ignore[arg-type] # JSON
    pipeline.put("Heron number 3.")
    pipeline.drain()

    def numbers(filters: dict[str, object] | None) -> set[int]:
        scope = pipeline.scope(filters=filters)  # type: ignore[arg-type] # JSON
        return {int(str(content)[-2]) for content in pipeline.found("heron number", 20, scope)}

    assert numbers(None) == {0, 1, 2, 3}
    assert numbers({"project": "red"}) == {0, 1}
    assert numbers({"team": {"lead": "Anna"}}) == {0}
    assert numbers({"project": "red", "team": {"lead": "Bert"}}) == {1}
    assert numbers({"project": "green"}) == set()
    assert numbers({"project": "red' OR true --"}) == set()


def test_never_fewer_than_there_are(pipeline: Pipeline, sql: Sql) -> None:
    """What fits, but may not be shown, does not use up the place of what may: 500 nearer ones under other filters, and expired."""
    pipeline.limits = LaneLimits(1000, 100_000, 100)
    pipeline.put(
        *[f"The heron flew over the bay in year {number}." for number in range(500)],
        scope=pipeline.scope(filters={"p": 1}),
    )
    pipeline.put("A heron.", "Something about boats.", scope=pipeline.scope(filters={"p": 2}))
    pipeline.drain()

    question = "the heron flew over the bay in year"
    assert sorted(map(str, pipeline.found(question, 5, pipeline.scope(filters={"p": 2})))) == [
        "A heron.",
        "Something about boats.",
    ]
    sql("UPDATE memories SET expires_at = now() WHERE tenant = %s AND filters = '{\"p\": 1}'", pipeline.caller.tenant)
    assert sorted(map(str, pipeline.found(question, 5))) == ["A heron.", "Something about boats."]


CJK = [
    ("项目代号是银杏叶", "银杏叶"),
    ("会議は梅の間で行います", "梅の間"),
    ("오늘은 감자밭에 갔다", "감자밭"),
    ("รหัสประตูอยู่ที่ป้ายสีน้ำเงิน", "ป้ายสีน้ำเงิน"),
]


@pytest.mark.parametrize(("text", "question"), CJK, ids=["zh", "ja", "ko", "th"])
def test_scripts_without_spaces_are_found_by_words(pipeline: Pipeline, text: str, question: str) -> None:
    pipeline.embedder = Blind()
    others = ["项目会议在星期二", "昼食は一階で食べます", "내일은 시장에 간다", "รถไฟออกเวลาเจ็ดโมงเช้า"]
    pipeline.put(text, *others)
    pipeline.drain()

    assert pipeline.found(question, 1) == [text]
    assert question[:2] in pipeline.query(question, 1).hits[0].reason


def test_ten_thousand_of_a_neighbour_change_nothing(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql
) -> None:
    """Rows that fit better than any of ours: in the same table, under the same model, another tenant's and another namespace's."""
    pipeline.put(*FACTS)
    pipeline.drain()
    question = "the heron flew over the bay at dawn"
    before = pipeline.query(question)
    other = new_pipeline()
    other.put(FACTS[0])
    other.drain()
    pipeline.put(FACTS[0], scope=pipeline.scope("elsewhere"))
    pipeline.drain()
    sql(MULTIPLY, other.caller.tenant, 0, 5_000)
    ((elsewhere,),) = sql("SELECT id FROM namespaces WHERE tenant = %s AND name = 'elsewhere'", pipeline.caller.tenant)
    sql(MULTIPLY, pipeline.caller.tenant, elsewhere, 5_000)

    assert pipeline.query(question) == before
    assert sql(
        "SELECT count(*) > 10000 FROM space_rows WHERE digest IN (SELECT digest FROM space_rows WHERE tenant = %s)",
        pipeline.caller.tenant,
    ) == [(True,)]


MULTIPLY = """
    WITH model AS (
        SELECT * FROM space_rows WHERE tenant = %s AND namespace = coalesce(nullif(%s, 0), namespace) LIMIT 1
    ), rows AS (
        INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes, vector)
        SELECT tenant, namespace, model, gen_random_uuid(), 0, type, span_start, span_end, digest, lexemes, vector
        FROM model, generate_series(1, %s)
        RETURNING tenant, namespace, row_id, lexemes
    ), counted AS (
        UPDATE namespace_counters c SET index_rows = index_rows + r.number, index_lexemes = index_lexemes + r.number
        FROM (SELECT tenant, namespace, count(*) AS number FROM rows GROUP BY 1, 2) r
        WHERE c.tenant = r.tenant AND c.namespace = r.namespace
    )
    INSERT INTO postings (tenant, namespace, lexeme, row_id, frequency, length)
    SELECT tenant, namespace, unnest(lexemes), row_id, 1, cardinality(lexemes) FROM rows
"""


def test_work_that_is_not_done_yet_is_told_of(pipeline: Pipeline) -> None:
    pipeline.put(FACTS[0], scope=pipeline.scope(agent="a"))
    pipeline.drain()
    pipeline.put(FACTS[1], scope=pipeline.scope(agent="b"))

    assert [warning.code for warning in pipeline.query("heron").warnings] == ["eventual_consistency"]
    assert [warning.code for warning in pipeline.query("heron", scope=pipeline.scope(agent="b")).warnings] == [
        "eventual_consistency"
    ]
    assert list(pipeline.query("heron", scope=pipeline.scope(agent="a")).warnings) == []
    assert list(pipeline.query("heron", scope=pipeline.scope("other")).warnings) == []
    pipeline.drain()
    assert list(pipeline.query("heron").warnings) == []


@pytest.mark.parametrize("question", ["", " ", "?!", "the of", "'; DROP TABLE memories; --", "\u200b", "x" * 20_000])
def test_any_question_has_an_answer(pipeline: Pipeline, question: str) -> None:
    pipeline.put(*FACTS)
    pipeline.drain()

    assert len(pipeline.query(question, 3).hits) == 3


def test_a_share_of_the_words_is_a_share_of_the_score(pipeline: Pipeline) -> None:
    """The best of a bad lot is not a good answer: words that nobody has count against everybody."""
    pipeline.embedder = Blind()
    pipeline.put(*FACTS)
    pipeline.drain()
    (whole, *_) = pipeline.query("boiler cellar").hits
    (half, *_) = pipeline.query("boiler xyzzy quantum flux").hits
    assert whole.ref == half.ref
    assert half.score < whole.score
