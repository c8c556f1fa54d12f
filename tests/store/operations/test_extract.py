"""extract: episodes become atoms once, each with the exact span it comes from, and a fault stays with its episode."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from infinicon.domain import BatchRef, IngestEpisode, JobStatus, Json, MemoryFilters, MemoryType, Scope
from infinicon.errors import InvalidContent, LeaseLost, PluginFailed, Unavailable
from infinicon.operations.extract import fingerprint
from infinicon.ports import Extraction, Extractor, SourceEpisode
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

SECRET = "the vault opens with 4711"

ATOMS = """
    SELECT m.content, m.id FROM memories m JOIN namespaces n ON n.id = m.namespace
    WHERE m.tenant = %s AND m.type = 'atom' ORDER BY m.content, m.id
"""
LINKS = (
    "SELECT from_id, to_id, span_start, span_end, span_path FROM links WHERE tenant = %s AND link_type = 'derived_from'"
)
EVENTS = "SELECT count(*) FROM events WHERE tenant = %s"


class Picky:
    """Fails for some episodes, as the built-in extractor does not."""

    version = "1"
    name = "picky"

    def __init__(self, inner: Extractor, fault: Exception) -> None:
        self._inner = inner
        self._fault = fault

    def supports(self, content_type: str) -> bool:
        return self._inner.supports(content_type)

    def extract(self, episode: SourceEpisode) -> Extraction:
        if SECRET in str(episode.content):
            raise self._fault
        return self._inner.extract(episode)


def atoms(sql: Sql, pipeline: Pipeline) -> list[str]:
    return [row[0] for row in sql(ATOMS, pipeline.caller.tenant)]


def extract_all(pipeline: Pipeline) -> list[BatchRef]:
    return [pipeline.extract(ref) for ref in pipeline.claim()]


@pytest.mark.parametrize(
    ("fault", "code"),
    [(ValueError(SECRET), "plugin_failed"), (InvalidContent("not of its contentType"), "invalid_content")],
)
def test_a_fault_stays_with_its_episode(pipeline: Pipeline, sql: Sql, fault: Exception, code: str) -> None:
    pipeline.extractor = Picky(pipeline.extractor, fault)
    reply = pipeline.put("The first fact is fine.", f"In here {SECRET}.", "The last fact is fine.")
    neighbour = pipeline.put("The fact of a neighbour.")
    pipeline.drain()

    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 2, 1)
    assert job.error is not None
    assert (job.error.code, job.error.details["stage"]) == (code, "extract")
    assert SECRET not in repr(job.error)
    assert pipeline.job(neighbour.job_id).status is JobStatus.COMPLETED
    failed = reply.results[1].ref.id
    assert sql("SELECT status FROM memories WHERE id = %s", failed) == [("failed",)]
    ((state, error),) = sql("SELECT state, error FROM queued_episodes WHERE tenant = %s", pipeline.caller.tenant)
    assert (state, error["code"]) == ("failed", code)
    assert SECRET not in json.dumps(error)
    assert len(pipeline.found("fact", 10)) == 3


def test_all_of_a_batch_may_fail(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.extractor = Picky(pipeline.extractor, ValueError())
    reply = pipeline.put(SECRET, SECRET + ".")
    pipeline.drain()

    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.failed) == (JobStatus.FAILED, 2)
    assert sql("SELECT count(*) FROM batches WHERE state = 'open'") == [(0,)]


def test_an_outage_of_an_extractor_is_no_fault_of_the_episode(pipeline: Pipeline, sql: Sql) -> None:
    builtin = pipeline.extractor
    pipeline.extractor = Picky(builtin, Unavailable("the model behind it is away"))
    reply = pipeline.put("This one is fine.", f"In here {SECRET}.")
    (ref,) = pipeline.claim()
    with pytest.raises(Unavailable):
        pipeline.extract(ref)
    assert pipeline.job(reply.job_id).progress.failed == 0

    pipeline.extractor = builtin
    (again,) = pipeline.reconcile()
    pipeline.run(again)
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED


def test_a_failed_one_sent_again_is_found(pipeline: Pipeline) -> None:
    builtin = pipeline.extractor
    episode = IngestEpisode("text/plain", f"In here {SECRET}.", dedupe_key="k")
    pipeline.extractor = Picky(builtin, PluginFailed("it raised"))
    pipeline.ingest(episode)
    pipeline.drain()
    assert pipeline.found("vault") == []

    pipeline.extractor = builtin
    job = pipeline.ingest(episode).job_id
    pipeline.drain()
    assert pipeline.job(job).status is JobStatus.COMPLETED
    assert pipeline.found("vault") == [f"In here {SECRET}."]


def test_the_message_again_adds_nothing(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Rosa moved to Turin. The boiler moved to the cellar.")
    (ref,) = pipeline.claim()
    pipeline.extract(ref)
    before = (atoms(sql, pipeline), sql(EVENTS, ref.tenant), sql(LINKS, ref.tenant))
    assert len(before[0]) == 2
    for _ in range(3):
        with pytest.raises(LeaseLost):
            pipeline.extract(ref)

    assert (atoms(sql, pipeline), sql(EVENTS, ref.tenant), sql(LINKS, ref.tenant)) == before


def test_the_stage_again_adds_nothing(pipeline: Pipeline, sql: Sql) -> None:
    """As after a batch was halved: its episodes are extracted once more."""
    pipeline.put("Rosa moved to Turin. The boiler moved to the cellar.")
    (ref,) = pipeline.claim()
    pipeline.extract(ref)
    before = (sql(ATOMS, ref.tenant), sql(EVENTS, ref.tenant), sql(LINKS, ref.tenant))
    sql("UPDATE batches SET stage = 'extract' WHERE id = %s", ref.batch)
    pipeline.extract(ref)

    assert (sql(ATOMS, ref.tenant), sql(EVENTS, ref.tenant), sql(LINKS, ref.tenant)) == before


def test_an_atom_of_two_episodes_is_one_row_with_two_links(pipeline: Pipeline, sql: Sql) -> None:
    first = pipeline.put("Rosa moved to Turin. It rained that day.")
    second = pipeline.put("Is that so? Rosa moved to Turin. The boiler stayed behind.")
    extract_all(pipeline)
    third = pipeline.put("Rosa  moved to\nTurin.")  # white space is no difference
    extract_all(pipeline)

    shared = [row[1] for row in sql(ATOMS, pipeline.caller.tenant) if row[0] == "Rosa moved to Turin."]
    assert len(shared) == 1
    sources = {row[1] for row in sql(LINKS, pipeline.caller.tenant) if row[0] == shared[0]}
    assert sources == {reply.results[0].ref.id for reply in (first, second, third)}


def test_many_batches_at_once_make_one_atom(pipeline: Pipeline, sql: Sql) -> None:
    replies = [pipeline.put("The same words every time. " + f"But this is number {n}.") for n in range(8)]
    pipeline.limits = type(pipeline.limits)(1, 10_000, 100)
    batches = pipeline.claim()
    assert len(batches) == 8
    together(*[lambda ref=ref: pipeline.run(ref) for ref in batches])

    ours = [row for row in sql(ATOMS, pipeline.caller.tenant) if row[0] == "The same words every time."]
    assert len(ours) == 1
    assert len([row for row in sql(LINKS, pipeline.caller.tenant) if row[0] == ours[0][1]]) == 8
    assert {pipeline.job(reply.job_id).status for reply in replies} == {JobStatus.COMPLETED}
    created = sql("SELECT count(*) FROM events WHERE memory = %s AND type = 'atom.extracted'", ours[0][1])
    indexed = sql("SELECT count(*) FROM events WHERE memory = %s AND type = 'memory.indexed'", ours[0][1])
    assert (created, indexed) == ([(1,)], [(1,)])


def test_atoms_are_not_shared_across_scopes(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql) -> None:
    text = "Rosa moved to Turin."
    scopes: list[Scope] = [
        pipeline.scope(),
        pipeline.scope("other"),
        pipeline.scope(agent="a"),
        pipeline.scope(agent="b"),
        pipeline.scope(session="a"),
        pipeline.scope(agent="a", session="b"),
    ]
    for scope in scopes:
        pipeline.put(text, scope=scope)
    extract_all(pipeline)
    other = new_pipeline()
    other.put(text)
    extract_all(other)

    assert atoms(sql, pipeline) == [text] * len(scopes)
    assert atoms(sql, other) == [text]


def test_atoms_of_other_filters_are_other_atoms(pipeline: Pipeline) -> None:
    """Else the second one's statement would be found under the first one's filters only."""
    for project in ("red", "blue"):
        pipeline.put("Rosa moved to Turin.", scope=pipeline.scope(filters={"project": project}))
    pipeline.drain()

    for project in ("red", "blue"):
        assert pipeline.found("Rosa Turin", scope=pipeline.scope(filters={"project": project})) == [
            "Rosa moved to Turin."
        ]
    assert pipeline.found("Rosa Turin", scope=pipeline.scope(filters={"project": "green"})) == []


def test_who_says_it_makes_it_another_statement(pipeline: Pipeline, sql: Sql) -> None:
    for speaker in ("Anna", "Bert", "Anna"):
        pipeline.ingest(IngestEpisode("text/plain", "I moved to Turin.", metadata={"speaker": speaker}))
    extract_all(pipeline)

    speakers = sql(
        "SELECT speaker FROM memories WHERE tenant = %s AND type = 'atom' ORDER BY 1", pipeline.caller.tenant
    )
    assert speakers == [("Anna",), ("Bert",)]


SCRIPTS = {
    "ja": ("鍵は青い箱の中にあります。", "会議は梅の間で行います。"),
    "ar": ("المفتاح في الصندوق الأزرق.", "الاجتماع يوم الثلاثاء القادم."),
    "he": ("המפתח נמצא בקופסה הכחולה.", "הפגישה תתקיים ביום שלישי הבא."),
    "ru": ("Ключ лежит в синей коробке.", "Встреча будет в следующий вторник."),
    "hi": ("चाबी नीले डिब्बे में रखी है।", "बैठक अगले मंगलवार को होगी।"),
}


def test_facts_of_every_script_stay_apart(pipeline: Pipeline, sql: Sql) -> None:
    texts = [text for pair in SCRIPTS.values() for text in pair]
    pipeline.put(*texts)
    pipeline.drain()

    assert sorted(atoms(sql, pipeline)) == sorted(texts)
    for text in texts:
        assert pipeline.found(text, limit=1) == [text]


def test_a_fingerprint_tells_absent_from_empty_and_part_from_part() -> None:
    variants: list[tuple[Any, ...]] = [
        (None, None, None, None, "x"),
        ("", None, None, None, "x"),
        (None, "", None, None, "x"),
        (None, None, "", None, "x"),
        (None, None, None, "", "x"),
        ("a", "b", None, None, "x"),
        ("ab", None, None, None, "x"),
        (None, None, None, None, "X"),
        (None, None, None, None, "ｘ"),
        (None, None, None, "x", ""),
    ]
    assert len({fingerprint(*variant) for variant in variants}) == len(variants)
    assert fingerprint(None, None, None, None, "Cafe\u0301  au\nlait") == fingerprint(
        None, None, None, None, "Caf\u00e9 au lait"
    )


LONG = (
    "First there was a fact about the harbour. " * 3
    + "Then came another one! Was it true? 🎉 Nobody knew for sure…\n\n- a list item that says something\n"
)
SOURCES: list[tuple[str, Any]] = [
    ("text/plain", LONG),
    ("text/plain; charset=utf-8", "  Indented, with 𝒜stral characters. And é, é, \u200b and more of it.  "),
    (
        "text/markdown",
        "# Heading\n\nSome **bold** words are here. And `code` too.\n\n```\nnot_an_atom()\n```\n\nThe end of it comes now.",
    ),
    (
        "application/json",
        {
            "messages": [
                {"role": "user", "content": "I moved to Turin last year. It rains here."},
                {"role": "assistant", "content": "That is good to hear from you."},
            ]
        },
    ),
    ("application/json", {"note": {"deep/er": ["Something is said in a list here."]}, "n": 1.5}),
]


def at(content: Any, path: str) -> Any:
    """RFC 6901."""
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def test_every_atom_is_the_span_of_its_source(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.ingest(*[IngestEpisode(kind, content) for kind, content in SOURCES])
    extract_all(pipeline)

    stored = {row[1]: row[0] for row in sql(ATOMS, pipeline.caller.tenant)}
    original = {result.ref.id: source[1] for result, source in zip(reply.results, SOURCES, strict=True)}
    links = sql(LINKS, pipeline.caller.tenant)
    for atom, episode, start, end, path in links:
        assert at(original[episode], path)[start:end] == stored[atom]
    assert {link[1] for link in links} == set(original)
    assert {link[0] for link in links} == set(stored)
    assert len(stored) >= 10


def test_an_atom_inherits_from_its_episode(pipeline: Pipeline, sql: Sql) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    expiry = datetime.now(UTC) + timedelta(days=1)
    pipeline.ingest(
        IngestEpisode(
            "text/plain",
            "Rosa moved to Turin. It rained.",
            metadata={"a": 1},
            tags=["t", "u"],
            occurred_at=moment,
            expires_at=expiry,
        ),
        scope=pipeline.scope(agent="a", session="s", filters={"f": True}),
    )
    extract_all(pipeline)

    rows = sql(
        """SELECT agent_id, session_id, filters, metadata, tags, occurred_at, expires_at, producer, status
           FROM memories WHERE tenant = %s AND type = 'atom'""",
        pipeline.caller.tenant,
    )
    assert rows
    for row in rows:
        assert row == ("a", "s", {"f": True}, {"a": 1}, ["t", "u"], moment, expiry, "builtin@1", "pending")


def test_a_statement_lives_as_long_as_its_longest_source(pipeline: Pipeline, sql: Sql) -> None:
    """The first source goes, the second stays: what it says must still be found."""
    soon = datetime.now(UTC) + timedelta(hours=1)
    pipeline.ingest(IngestEpisode("text/plain", "Rosa moved to Turin.", expires_at=soon))
    pipeline.drain()
    pipeline.put("Rosa moved to Turin.")
    pipeline.drain()
    sql(
        "UPDATE memories SET expires_at = now() - interval '1 hour' WHERE tenant = %s AND expires_at IS NOT NULL",
        pipeline.caller.tenant,
    )

    assert pipeline.found("Rosa Turin") == ["Rosa moved to Turin."]


def test_a_statement_with_two_ends_has_the_later_one(pipeline: Pipeline, sql: Sql) -> None:
    now = datetime.now(UTC)
    for hours in (5, 9, 2):
        pipeline.ingest(IngestEpisode("text/plain", "Rosa moved to Turin.", expires_at=now + timedelta(hours=hours)))
    extract_all(pipeline)

    assert sql("SELECT expires_at FROM memories WHERE tenant = %s AND type = 'atom'", pipeline.caller.tenant) == [
        (now + timedelta(hours=9),)
    ]


def test_an_episode_has_the_one_moment_that_its_content_names(pipeline: Pipeline, sql: Sql) -> None:
    first, second = "2026-05-02T10:00:00+00:00", "2026-05-03T10:00:00+00:00"
    own = datetime(2024, 5, 6, tzinfo=UTC)
    turn: dict[str, Json] = {"role": "user", "content": "Rosa moved to Turin. It rained there."}
    other: dict[str, Json] = {"role": "user", "content": "The bicycle stayed behind in Lyon."}
    contents: list[Json] = [
        {**turn, "at": first},
        [{**turn, "at": first}, {**other, "at": second}],
        [{**turn, "at": first}, other],
    ]
    refs = [
        result.ref.id
        for result in pipeline.ingest(
            *[IngestEpisode("application/json", content) for content in contents],
            IngestEpisode("application/json", contents[0], occurred_at=own),
        ).results
    ]
    pipeline.drain()

    rows: dict[UUID, datetime | None] = dict(sql("SELECT id, occurred_at FROM memories WHERE id = ANY(%s)", refs))
    assert [rows[ref] for ref in refs] == [datetime.fromisoformat(first), None, None, own]
    whole = MemoryFilters(types=frozenset({MemoryType.EPISODE}))
    when = {segment.ref.id: segment.when for segment in pipeline.assemble("Rosa in Turin", filters=whole).segments}
    assert when[refs[0]] == datetime.fromisoformat(first)
