"""A consolidation from its request to its end: what it makes, what gives way, what stays."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from infinicon.domain import JobStatus
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, digest, key_of, nothing

LYON = "Rosa lives in Lyon."
TURIN = "Rosa moved to Turin."
BLUE = "The bicycle is blue."
GREEN = "The bicycle is green."


def statuses(sql: Sql, pipeline: Pipeline) -> dict[str, str]:
    """Of derived memories, by what they say."""
    rows = sql(
        "SELECT content, status FROM memories WHERE tenant = %s AND type <> 'episode' AND content IS NOT NULL",
        pipeline.caller.tenant,
    )
    return dict(rows)


def links(sql: Sql, pipeline: Pipeline) -> set[tuple[str, str, str]]:
    rows = sql(
        "SELECT l.link_type, f.content, t.content FROM links l JOIN memories f ON f.tenant = l.tenant AND f.id = l.from_id"
        " JOIN memories t ON t.tenant = l.tenant AND t.id = l.to_id"
        " WHERE l.tenant = %s AND l.link_type <> 'derived_from' AND l.status = 'active'",
        pipeline.caller.tenant,
    )
    return {(row[0], row[1], row[2]) for row in rows}


def waiting(sql: Sql, pipeline: Pipeline) -> tuple[int, int]:
    """What the backlog holds, and what its scopes count."""
    tenant = pipeline.caller.tenant
    ((rows,),) = sql("SELECT count(*) FROM consolidation_backlog WHERE tenant = %s AND NOT undone", tenant)
    ((counted,),) = sql("SELECT coalesce(sum(waiting), 0) FROM consolidation_scopes WHERE tenant = %s", tenant)
    return rows, counted


def put(pipeline: Pipeline, *texts: str, **scope: Any) -> list[UUID]:
    refs = [result.ref.id for result in pipeline.put(*texts, scope=pipeline.scope(**scope)).results]
    pipeline.drain()
    return refs


def test_what_becomes_visible_waits_once(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    put(pipeline, LYON)

    assert waiting(sql, pipeline) == (2, 2)


def test_a_digest_is_made_found_and_leads_to_its_sources(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    job = made.run()

    assert (job.status, job.progress.done, job.progress.total) == (JobStatus.COMPLETED, 2, 2)
    assert isinstance(job.result, dict)
    assert (job.result["consolidations"], job.result["memories"], job.result["trigger"]) == (1, 2, "manual")
    assert waiting(sql, pipeline) == (0, 0)
    (hit,) = [hit for hit in pipeline.query("Rosa Lyon Turin").hits if hit.ref.type == "consolidation"]
    assert pipeline.content(hit.ref) == f"{LYON} {TURIN}"
    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active", f"{LYON} {TURIN}": "active"}


def test_what_was_true_gives_way_and_what_contradicts_is_disputed(pipeline: Pipeline, sql: Sql) -> None:
    def plan(request: ConsolidationInput) -> Plan:
        return Plan(
            supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")],
            disputes=[Dispute(key_of(request, BLUE), key_of(request, GREEN), "values")],
        )

    put(pipeline, LYON, TURIN, BLUE, GREEN)
    Consolidations(pipeline, plan).run()

    assert statuses(sql, pipeline) == {LYON: "superseded", TURIN: "active", BLUE: "disputed", GREEN: "disputed"}
    assert {kind for kind, *_ in links(sql, pipeline)} == {"supersedes", "contradicts"}
    assert ("supersedes", TURIN, LYON) in links(sql, pipeline)


def test_a_duplicate_is_folded(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, BLUE, "The bicycle is blue, it is.")
    Consolidations(
        pipeline, lambda request: Plan(duplicates=[Duplicate(key_of(request, BLUE), key_of(request, "it is."))])
    ).run()

    assert statuses(sql, pipeline) == {BLUE: "active", "The bicycle is blue, it is.": "superseded"}
    assert links(sql, pipeline) == {("same_as", BLUE, "The bicycle is blue, it is.")}


def test_slices_go_on_until_nothing_waits(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, *[f"Fact number {number} is about the cellar." for number in range(23)])
    made = Consolidations(pipeline, nothing, memories=5)
    job = made.run()

    assert isinstance(job.result, dict)
    assert (job.status, job.result["slices"], job.progress.done) == (JobStatus.COMPLETED, 5, 23)
    assert waiting(sql, pipeline) == (0, 0)


def test_the_same_again_makes_nothing_new(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(
        pipeline,
        lambda request: Plan(
            digests=[Digest("T", "Rosa moved.", [one.key for one in request.memories if one.type == "atom"])]
        ),
    )
    made.run()
    sql(
        "INSERT INTO consolidation_backlog (tenant, memory, scope) SELECT m.tenant, m.id, s.id FROM memories m"
        " JOIN consolidation_scopes s ON s.tenant = m.tenant WHERE m.tenant = %s AND m.type = 'atom'",
        pipeline.caller.tenant,
    )
    sql("UPDATE consolidation_scopes SET waiting = 2 WHERE tenant = %s", pipeline.caller.tenant)
    job = made.run()

    assert isinstance(job.result, dict)
    assert (job.status, job.result["consolidations"]) == (JobStatus.COMPLETED, 0)
    assert list(statuses(sql, pipeline).values()) == ["active"] * 3


def test_where_nothing_waits_the_job_is_over_at_once(pipeline: Pipeline) -> None:
    put(pipeline, LYON)
    made = Consolidations(pipeline, nothing)
    made.run()

    assert made.ask().status is JobStatus.COMPLETED
