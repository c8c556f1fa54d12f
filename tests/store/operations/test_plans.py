"""A consolidator that fails or lies: its job fails with a reason, and no memory is touched."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from infinicon.domain import JobStatus, MemoryType
from infinicon.errors import InvalidContent, PluginFailed
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.store.operations.consolidations import Consolidations, digest, nothing

LYON = "Rosa lives in Lyon."
TURIN = "Rosa moved to Turin."
BLUE = "The bicycle is blue."
MEMORY = (
    "memories",
    "links",
    "space_rows",
    "postings",
    "staged_vectors",
    "tombstones",
    "namespace_counters",
    "consolidation_changes",
)
COUNTED = ("seq",)


def fingerprint(sql: Sql, pipeline: Pipeline) -> list[Any]:
    """A digest of every row of every table that holds memory, but for the position of the last event."""
    tenant = pipeline.caller.tenant
    found: list[Any] = []
    for table in MEMORY:
        found += sql(
            f"SELECT count(*), md5(string_agg((to_jsonb(t) - 'seq')::text, E'\\n' ORDER BY t::text))"
            f" FROM {table} t WHERE tenant = %s",
            tenant,
        )
    return found


def raising(_request: ConsolidationInput) -> NoReturn:
    raise RuntimeError(f"what a user wrote: {LYON}")


def refusing(_request: ConsolidationInput) -> NoReturn:
    raise InvalidContent("no")


def digests(**changed: Any) -> Callable[[ConsolidationInput], Plan]:
    """A digest of the first two memories, with something wrong about it."""

    def plan(request: ConsolidationInput) -> Plan:
        keys = [one.key for one in request.memories]
        whole: dict[str, Any] = {"title": "T", "content": "Rosa moved.", "sources": keys[:2], **changed}
        return Plan(digests=[Digest(**whole)])

    return plan


def of_keys(make: Callable[[list[str]], Any]) -> Callable[[ConsolidationInput], Any]:
    return lambda request: make([one.key for one in request.memories])


class Strange(Plan):
    """Its parts are no lists."""

    @property
    def digests(self) -> NoReturn:
        raise ValueError(LYON)


LIES: dict[str, Callable[[ConsolidationInput], Any]] = {
    "raises": raising,
    "refuses": refusing,
    "nothing at all": lambda _: None,
    "NaN": lambda _: {"coherence": math.nan},
    "parts that raise": lambda _: object.__new__(Strange),
    "no lists": lambda _: Plan(digests=7),  # type: ignore[arg-type]
    "something else in a list": lambda _: Plan(digests=[{"title": "T"}]),  # type: ignore[list-item]
    "no provenance": digests(sources=[]),
    "one source": of_keys(lambda keys: Plan(digests=[Digest("T", "Rosa moved.", keys[:1])])),
    "the same source twice": of_keys(lambda keys: Plan(digests=[Digest("T", "Rosa moved.", [keys[0]] * 2)])),
    "unknown sources": digests(sources=["m900", "m901"]),
    "sources that are ids": digests(
        sources=["019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e"]
    ),
    "sources that are no texts": digests(sources=[0, 1]),
    "sources that are one text": digests(sources="m0m1"),
    "a content that is no text": digests(content=math.nan),
    "a title that is no text": digests(title=b"T"),
    "a title that is too long": digests(title="T" * 300),
    "an empty title": digests(title=""),
    "a title without a word": digests(title="... !!! ---"),
    "a NUL": digests(content="Rosa\0moved"),
    "half a surrogate pair": digests(content="Rosa \ud83d moved"),
    "over the budget": digests(content="Rosa moved to Turin and to Lyon. " * 200),
    "an atom that is replaced": of_keys(lambda keys: Plan(digests=[Digest("T", "Rosa moved.", keys[:2], keys[2:])])),
    "itself": of_keys(lambda keys: Plan(supersessions=[Supersession(keys[0], keys[0], "moved")])),
    "retired twice": of_keys(
        lambda keys: Plan(
            supersessions=[Supersession(keys[0], keys[1], "moved")], duplicates=[Duplicate(keys[2], keys[0])]
        )
    ),
    "in a circle": of_keys(
        lambda keys: Plan(
            supersessions=[
                Supersession(keys[0], keys[1], "moved"),
                Supersession(keys[1], keys[2], "moved"),
                Supersession(keys[2], keys[0], "moved"),
            ]
        )
    ),
    "kept and folded": of_keys(
        lambda keys: Plan(duplicates=[Duplicate(keys[0], keys[1]), Duplicate(keys[1], keys[2])])
    ),
    "text as a reason": of_keys(lambda keys: Plan(supersessions=[Supersession(keys[0], keys[1], LYON)])),
    "disputed and retired": of_keys(
        lambda keys: Plan(
            supersessions=[Supersession(keys[0], keys[1], "moved")], disputes=[Dispute(keys[0], keys[2], "values")]
        )
    ),
    "the same contradiction twice": of_keys(
        lambda keys: Plan(disputes=[Dispute(keys[0], keys[1], "values"), Dispute(keys[1], keys[0], "values")])
    ),
    "too many": of_keys(lambda keys: Plan(duplicates=[Duplicate(keys[0], keys[1])] * 50)),
    "half of it good": of_keys(
        lambda keys: Plan(digests=[Digest("T", "Rosa moved.", keys[:2])], duplicates=[Duplicate("m77", keys[0])])
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_whatever_it_answers_no_memory_is_touched(pipeline: Pipeline, sql: Sql, name: str) -> None:
    pipeline.put(LYON, TURIN, BLUE)
    pipeline.drain()
    made = Consolidations(pipeline, LIES[name])
    before = fingerprint(sql, pipeline)
    job = made.run()

    assert fingerprint(sql, pipeline) == before
    assert (job.status, job.progress.failed) == (JobStatus.FAILED, 3)
    assert job.error is not None
    assert job.error.code in {"plugin_failed", "invalid_content"}
    assert LYON not in job.error.message + str(job.error.details)
    assert len(pipeline.query("Rosa bicycle", 10).hits) == 3
    made.stub.plan = nothing
    assert made.run().status is JobStatus.COMPLETED  # and the scope is free


@pytest.mark.parametrize("content", ["", "   ", "\n\t ", " \u200b\n\t", "... !!! ---", "\u00ad\u2060"])
def test_an_empty_synthesis_fails_and_what_was_there_stays(pipeline: Pipeline, sql: Sql, content: str) -> None:
    pipeline.put(LYON, TURIN)
    pipeline.drain()
    made = Consolidations(pipeline, digest)
    made.run()
    pipeline.put(BLUE)
    pipeline.drain()
    before = fingerprint(sql, pipeline)

    def plan(request: ConsolidationInput) -> Plan:
        atoms = [one.key for one in request.memories if one.type is MemoryType.ATOM]
        old = [one.key for one in request.memories if one.type is MemoryType.CONSOLIDATION]
        return Plan(digests=[Digest("T", content, atoms, old)])

    made.stub.plan = plan
    job = made.run()

    assert job.error is not None
    assert (job.status, job.error.code) == (JobStatus.FAILED, "empty_synthesis")
    assert fingerprint(sql, pipeline) == before


@pytest.mark.parametrize("content", ["7", "梅", "Ω!", "— é —"])
def test_a_word_of_any_script_is_text(pipeline: Pipeline, content: str) -> None:
    pipeline.put(LYON, TURIN)
    pipeline.drain()

    assert Consolidations(pipeline, digests(content=content)).run().status is JobStatus.COMPLETED


def test_a_huge_text_is_refused_by_its_length_and_not_counted(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str, text: str) -> int:
        raise AssertionError(f"{len(text):,} characters are counted")

    pipeline.put(LYON, TURIN)
    pipeline.drain()
    monkeypatch.setattr(pipeline.counters, "count", refuse)
    job = Consolidations(pipeline, digests(content="x" * 1_000_000)).run()

    assert job.error is not None
    assert job.error.details["rule"] == "a digest is over its token budget"


@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt])
def test_one_that_means_to_end_the_process_has_failed(
    pipeline: Pipeline, sql: Sql, leaving: type[BaseException]
) -> None:
    def leave(_request: ConsolidationInput) -> NoReturn:
        raise leaving(LYON)

    pipeline.put(LYON, TURIN)
    pipeline.drain()
    before = fingerprint(sql, pipeline)
    job = Consolidations(pipeline, leave).run()

    assert fingerprint(sql, pipeline) == before
    assert job.error is not None
    assert (job.status, job.error.code) == (JobStatus.FAILED, "plugin_failed")
    assert (job.error.details["type"], job.error.details["plugin"]) == (leaving.__name__, "stub")
    assert LYON not in job.error.message + str(job.error.details)


def test_a_text_that_the_model_refuses_fails_the_job_and_not_its_sources(pipeline: Pipeline, sql: Sql) -> None:
    class Refusing(WordEmbedder):
        def embed(self, texts: Any) -> Any:
            if any("Rosa moved." in text for text in texts):
                raise PluginFailed("the model does not take this")
            return super().embed(texts)

    pipeline.put(LYON, TURIN)
    pipeline.drain()
    pipeline.embedder = Refusing()
    before = fingerprint(sql, pipeline)
    job = Consolidations(pipeline, digests()).run()

    assert job.error is not None
    assert (job.status, job.error.code) == (JobStatus.FAILED, "plugin_failed")
    assert fingerprint(sql, pipeline) == before


def test_events_say_how_it_went(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(LYON, TURIN)
    pipeline.drain()
    failed = Consolidations(pipeline, raising).run()
    good = Consolidations(pipeline, digest).run()

    told = sql(
        "SELECT type, job, memory_type FROM events WHERE tenant = %s AND job = ANY(%s) ORDER BY seq",
        pipeline.caller.tenant,
        [failed.id, good.id],
    )
    assert told == [
        ("consolidation.started", failed.id, None),
        ("consolidation.failed", failed.id, None),
        ("consolidation.started", good.id, None),
        ("memory.indexed", good.id, "consolidation"),
        ("consolidation.completed", good.id, None),
    ]


def test_one_bad_scope_does_not_hold_up_the_others(pipeline: Pipeline, sql: Sql) -> None:
    for agent in ("a", "b", "c"):
        pipeline.put(f"{agent} says one thing.", f"{agent} says two things.", scope=pipeline.scope(agent=agent))
    pipeline.drain()

    def plan(request: ConsolidationInput) -> Plan:
        if any("b says" in one.content for one in request.memories):
            raise RuntimeError
        return digest(request)

    job = Consolidations(pipeline, plan).run()

    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 4, 2)
    made = sql(
        "SELECT agent_id FROM memories WHERE tenant = %s AND type = 'consolidation' ORDER BY 1", pipeline.caller.tenant
    )
    assert made == [("a",), ("c",)]
