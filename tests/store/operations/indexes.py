"""What the index of a tenant holds, and what it answers: for tests that compare before and after."""

from __future__ import annotations

from uuid import UUID

from infinicon.domain import JobStatus, Lane
from tests.store.operations.conftest import Pipeline

TEXTS = [
    "Rosa moved to Turin. The boiler stands in the cellar.",
    "The orchard gate code is on the blue tag.",
    "The heron flew at noon. The tide was out.",
    *(f"Fact number {number} of many, about subject {number % 7}." for number in range(30)),
]
QUESTIONS = ("Where does Rosa live?", "gate code", "heron", "subject 3", "Fact number 12", "tide")

INDEX = """
    SELECT s.memory, s.chunk, s.type, s.span_start, s.span_end, s.digest, s.vector::text,
           ARRAY(SELECT unnest(s.lexemes) ORDER BY 1),
           ARRAY(SELECT (p.lexeme, p.frequency, p.length)::text FROM postings p
                 WHERE p.tenant = s.tenant AND p.namespace = s.namespace AND p.row_id = s.row_id ORDER BY p.lexeme)
    FROM space_rows s WHERE s.tenant = %s ORDER BY s.memory, s.chunk
"""
COUNTERS = "SELECT namespace, index_rows, index_lexemes FROM namespace_counters WHERE tenant = %s ORDER BY 1"
COUNTED = """
    SELECT n.id, (SELECT count(*) FROM space_rows s WHERE s.tenant = n.tenant AND s.namespace = n.id),
           (SELECT coalesce(sum(frequency), 0) FROM postings p WHERE p.tenant = n.tenant AND p.namespace = n.id)
    FROM namespaces n WHERE n.tenant = %s ORDER BY 1
"""
ORPHANS = """
    SELECT count(*) FROM postings p
    WHERE p.tenant = %s AND NOT EXISTS (SELECT FROM space_rows s WHERE s.tenant = p.tenant AND s.row_id = p.row_id)
"""


def answers(pipeline: Pipeline) -> list[list[tuple[UUID, float]]]:
    return [[(hit.ref.id, hit.score) for hit in pipeline.query(question, 20).hits] for question in QUESTIONS]


def fill(pipeline: Pipeline) -> None:
    pipeline.put(*TEXTS, lane=Lane.BULK)
    pipeline.drain()


def reindexed(pipeline: Pipeline) -> None:
    job = pipeline.reindex()
    assert (job.type, job.status) == ("reindex", JobStatus.QUEUED)
    pipeline.drain()
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
