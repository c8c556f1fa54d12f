"""What a filtered query must answer, worked out from the tables by other means: every memory looked at, one by one, in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from infinicon.domain import Json, MemoryFilters, MemoryType, Scope, ScopeKey, Status
from infinicon.operations import ranking
from infinicon.store import tenancy
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

MEMORIES = """
    SELECT id, type, status, agent_id, session_id, metadata, tags, speaker, created_at, stale,
           expires_at IS NOT NULL AND expires_at <= now(), filters
    FROM memories WHERE tenant = %s AND namespace = %s
"""
LINKS = "SELECT from_id, to_id, whole, retracted FROM links WHERE tenant = %s AND namespace = %s AND link_type = 'derived_from'"
ROWS = "SELECT row_id, memory FROM space_rows WHERE tenant = %s AND namespace = %s"
LIVING = {"active", "disputed", "superseded"}


@dataclass(frozen=True)
class Row:
    id: UUID
    type: str
    status: str
    agent_id: str | None
    session_id: str | None
    metadata: dict[str, Json]
    tags: list[str]
    speaker: str | None
    created_at: datetime
    stale: bool
    expired: bool
    filters: dict[str, Json] | None

    @property
    def lives(self) -> bool:
        return self.status in LIVING and not self.expired

    @property
    def shown_metadata(self) -> Mapping[str, Json]:
        spoken: dict[str, Json] = {} if self.speaker is None or self.type != "atom" else {"speaker": self.speaker}
        return {**spoken, **self.metadata}


def contains(whole: Any, part: Any) -> bool:
    """JSON containment as Postgres has it: members by name, elements in any order and number, scalars by type and value."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(one, value) for one in whole) for value in part)
    return isinstance(whole, bool) == isinstance(part, bool) and bool(whole == part)


class World:
    """All that a namespace holds, read once."""

    def __init__(self, pipeline: Pipeline, sql: Sql, name: str = "notes") -> None:
        self.pipeline = pipeline
        tenant = pipeline.caller.tenant
        ((self.namespace,),) = sql("SELECT id FROM namespaces WHERE tenant = %s AND name = %s", tenant, name)
        key = (tenant, self.namespace)
        self.memories = {row[0]: Row(*row) for row in sql(MEMORIES, *key)}
        links = sql(LINKS, *key)
        self.links = [(derived, source, whole) for derived, source, whole, _ in links]
        self.retracted: dict[UUID, set[str]] = {}
        for _, source, _, retracted in links:
            if retracted is not None:
                self.retracted.setdefault(source, set()).add(retracted)
        self.rows: dict[UUID, list[int]] = {}
        for row, memory in sql(ROWS, *key):
            self.rows.setdefault(memory, []).append(row)

    def described(self, row: Row, metadata: Mapping[str, Json], tags: frozenset[str]) -> bool:
        return contains(row.shown_metadata, metadata) and tags <= set(row.tags)

    def passes(self, row: Row, scope: Scope, filters: MemoryFilters) -> bool:
        metadata = filters.metadata or {}
        sources = [self.memories[source] for derived, source, _ in self.links if derived == row.id]
        return (
            row.lives
            and (not row.stale or filters.stale)
            and Status(row.status) in filters.statuses
            and self.retracted.get(row.id, set()) <= filters.statuses - {Status.TOMBSTONED}
            and scope.agent_id in {None, row.agent_id}
            and scope.session_id in {None, row.session_id}
            and (scope.filters is None or contains(row.filters, scope.filters))
            and (filters.types is None or MemoryType(row.type) in filters.types)
            and (filters.created_after is None or row.created_at > filters.created_after)
            and (filters.created_before is None or row.created_at < filters.created_before)
            and (
                self.described(row, metadata, filters.tags)
                or any(one.lives and self.described(one, metadata, filters.tags) for one in sources)
            )
        )

    def lends(self, atom: Row, scope: Scope, filters: MemoryFilters) -> bool:
        """Whether an atom is there to be found, but not let through: then an episode that it says in full may stand in its place."""
        return atom.lives and not self.passes(atom, scope, filters)

    def answer(self, question: str, scope: Scope, filters: MemoryFilters) -> list[tuple[UUID, float]]:
        """The whole answer: ids and scores."""
        evidence = self._evidence(question, scope)
        scores: dict[UUID, float] = {}
        for memory, rows in self.rows.items():
            found = [evidence[row] for row in rows if row in evidence]
            if not found:
                continue
            if self.passes(self.memories[memory], scope, filters):
                scores[memory] = max(found)
            elif self.memories[memory].type == "atom" and self.lends(self.memories[memory], scope, filters):
                for derived, source, whole in self.links:
                    if derived == memory and whole and self.passes(self.memories[source], scope, filters):
                        scores[source] = max([*found, scores.get(source, 0.0)])
        ordered = sorted(scores, key=lambda memory: (-scores[memory], -memory.int))
        return [(memory, round(scores[memory], 6)) for memory in self._without_doubles(ordered)]

    def _evidence(self, question: str, scope: Scope) -> dict[int, float]:
        """Every row's score: this much is the legs' own word, on a pool that holds them all."""
        tenant = self.pipeline.caller.tenant
        with self.pipeline.app.transaction(tenant) as tx:
            key = ScopeKey(tenant, tenancy.find_namespace(tenant, tx, scope.namespace_id) or 0, scope)
            asked = ranking.ask(self.pipeline.embedder, question)
            found = ranking._evidence(key, tx, asked, 100_000)
        return {row: evidence.score for row, evidence in found.items()}

    def _without_doubles(self, ordered: Sequence[UUID]) -> list[UUID]:
        edges = {(derived, source) for derived, source, _ in self.links}
        kept: list[UUID] = []
        for memory in ordered:
            if not any((memory, other) in edges or (other, memory) in edges for other in kept):
                kept.append(memory)
        return kept
