"""list, get and delete: memory as RFC 0113 reads it. What an entry is, which there are, and in what order: docs/entries.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from infinicon.domain import (
    OVERSIZED_COUNTED,
    QUERY_DEPTH,
    Caller,
    Cascade,
    Entry,
    ListReply,
    ListRequest,
    MemoryFilters,
    MemoryType,
    Permission,
    Rank,
    ScopeKey,
    Status,
    TombstoneStatus,
)
from infinicon.errors import Unavailable
from infinicon.ids import parse_id
from infinicon.operations import bindings, ranking, scopes
from infinicon.operations import tombstone as deletion
from infinicon.operations.counting import Counters
from infinicon.operations.prefix import Prefix
from infinicon.operations.ranking import Asked
from infinicon.ports import Embedder
from infinicon.store import entries, policies, puts, tombstones
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.entries import Place, Sized, Streamed
from infinicon.store.tombstones import Mark

ENTRIES = MemoryFilters(types=frozenset({MemoryType.ATOM, MemoryType.CONSOLIDATION}))
"""What query is asked for where the rank is relevance."""

FIRST = 64
"""Rows that are read at first; four times as many each time, up to what there is room for."""

FIRST_OF_SIZE, MOST_OF_SIZE = 4, 1_024
"""The same of each size."""

DEPTHS = (128, 1_024, QUERY_DEPTH)
"""How far query is asked to rank, until the answer ends."""

REASON = "the memory's entry was deleted"


@dataclass(frozen=True, slots=True)
class Reading:
    """One list request in its scope. `sizes` answers with what entries count, in their order."""

    scope: ScopeKey
    tx: Transaction
    request: ListRequest
    counter: str
    sizes: Callable[[Sequence[Sized]], Sequence[int]]

    def sees(self, row: Sized) -> bool:
        sight = self.request.sight
        return sight is None or sight.has(row.id, row.place[0])


def list_entries(
    database: Database, embedder: Embedder, counters: Counters, caller: Caller, request: ListRequest
) -> ListReply:
    """The longest prefix of the ranked entries that fits. A memoryRef that stands for nothing the caller may see has none.

    Raises:
        Unauthorized: the key may not read content.
        Unavailable: the host cannot count what the budget is in; or Postgres or the encoder does not answer.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.HYDRATE)
    unit = counters.budget_unit()
    if unit is None and request.token_budget is not None:
        raise Unavailable("a tokenBudget cannot be counted: the token counter is missing or damaged")
    asked = ranking.ask(embedder, request.query) if request.rank is Rank.RELEVANCE else None
    with database.transaction(caller.tenant, snapshot=True) as tx:
        scope = bindings.find(tx, caller, request.memory_ref)
        if scope is None:
            return ListReply((), None if unit is None else 0, 0, truncated=False, token_counter=unit)
        reading = Reading(scope, tx, request, counters.budget, _measure(scope, tx, counters, counted=unit is not None))
        prefix = _newest(reading) if asked is None else _relevant(reading, asked)
        loaded = entries.load(scope, tx, prefix.chosen)
    shown = [loaded[one] for one in prefix.chosen if one in loaded]
    return ListReply(shown, None if unit is None else prefix.used, prefix.oversized, prefix.cut, unit)


def _measure(
    scope: ScopeKey, tx: Transaction, counters: Counters, *, counted: bool
) -> Callable[[Sequence[Sized]], Sequence[int]]:
    """What entries count: as it was counted when they were written, and now where that was not done."""

    def sizes(rows: Sequence[Sized]) -> Sequence[int]:
        if not counted:
            return [0] * len(rows)
        unknown = [row.id for row in rows if row.counts.of(counters.budget) is None]
        texts = entries.texts(scope, tx, unknown)
        missing = {one: counters.count(counters.budget, text) for one, text in texts.items()}
        stored = [row.counts.of(counters.budget) for row in rows]
        return [missing.get(row.id, 0) if size is None else size for row, size in zip(rows, stored, strict=True)]

    return sizes


def _newest(reading: Reading) -> Prefix:
    """Newest first. What is too large is passed over one by one, as far as that is counted; behind it only sizes are read that can fit."""
    prefix = Prefix(reading.request.token_budget, reading.request.limit)
    before: Place | None = None
    page = min(FIRST, prefix.room)
    while True:
        rows = entries.recent(reading.scope, reading.tx, reading.request.tag, before, page)
        seen = [row.sized for row in rows if row.lives and reading.sees(row.sized)]
        for row, size in zip(seen, reading.sizes(seen), strict=True):
            if not prefix.offer(row.id, size):
                return prefix
            if prefix.oversized == OVERSIZED_COUNTED and reading.request.token_budget is not None:
                _newest_that_fit(reading, prefix, row.place, reading.request.token_budget)
                return prefix
        if len(rows) < page:
            return prefix
        before = rows[-1].sized.place
        page = min(4 * page, max(prefix.room, FIRST))


def _newest_that_fit(reading: Reading, prefix: Prefix, before: Place, budget: int) -> None:
    """The entries behind `before`, from a stream for each size that fits. What is newer than the last that was read of every stream that
    goes on is complete, and is offered in the order of time."""
    counter = entries.counter_number(reading.tx, reading.counter)
    each = FIRST_OF_SIZE
    while True:
        rows = entries.by_size(reading.scope, reading.tx, reading.request.tag, counter, budget, before, each)
        horizon = _horizon(rows, each)
        # By id: where the counter was changed, an entry may stand in a stream of either.
        living = {row.sized.id: row.sized for row in rows if row.lives and reading.sees(row.sized)}
        ready = [one for one in living.values() if horizon is None or one.place >= horizon]
        ready.sort(key=lambda one: one.place, reverse=True)
        for row, size in zip(ready, reading.sizes(ready), strict=True):
            if not prefix.offer(row.id, size):
                return
        if horizon is None:
            return
        before = horizon
        each = min(4 * each, MOST_OF_SIZE)


def _horizon(rows: Sequence[Streamed], each: int) -> Place | None:
    """Down to where all streams are read; None: to their ends."""
    streams: dict[tuple[int, int], list[Place]] = {}
    for row in rows:
        streams.setdefault(row.stream, []).append(row.sized.place)
    return max((min(places) for places in streams.values() if len(places) == each), default=None)


def _relevant(reading: Reading, asked: Asked) -> Prefix:
    """In the order of query. What it ranks only with a larger pool is ranked anew with the rest."""
    tag = reading.request.tag
    filters = ENTRIES if tag is None else replace(ENTRIES, tags=frozenset({tag}))
    prefix = Prefix(reading.request.token_budget, reading.request.limit)
    for depth in DEPTHS:
        order = ranking.order(reading.scope, reading.tx, asked, depth, filters)
        ranked = [one.candidate.memory for one in order.found[:QUERY_DEPTH]]
        prefix = Prefix(reading.request.token_budget, reading.request.limit)
        # A derived memory passes the filter for a tag of its sources as well; a list is asked for the entry's own.
        found = entries.sizes(reading.scope, reading.tx, tag, ranked)
        rows = [found[one] for one in ranked if one in found and reading.sees(found[one])]
        for row, size in zip(rows, reading.sizes(rows), strict=True):
            if not prefix.offer(row.id, size):
                return prefix
        if order.complete:
            return prefix
    prefix.cut = True
    return prefix


def get_entry(database: Database, caller: Caller, memory_ref: str | None, entry_id: str) -> Entry | None:
    """The entry with that id, as list shows it; None for an unknown, foreign or malformed id or memoryRef.

    Raises:
        Unauthorized: the key may not read content.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.HYDRATE)
    wanted = parse_id(entry_id)
    if wanted is None or memory_ref is None:
        return None
    with database.transaction(caller.tenant) as tx:
        scope = bindings.find(tx, caller, memory_ref)
        return None if scope is None else entries.load(scope, tx, [wanted]).get(wanted)


@retry_conflicts
def delete_entry(database: Database, caller: Caller, memory_ref: str | None, entry_id: str) -> TombstoneStatus:
    """Tombstone an atom or a consolidation and what was derived from it; one of put goes with its episode, and what that led to.

    Raises:
        Unauthorized: the key may not delete.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.TOMBSTONE)
    wanted = parse_id(entry_id)
    if wanted is None or memory_ref is None:
        return TombstoneStatus.NOT_FOUND
    with database.transaction(caller.tenant) as tx:
        scope = bindings.find(tx, caller, memory_ref)
        if scope is None or not tombstones.find(scope, tx, [wanted]):
            return TombstoneStatus.NOT_FOUND
        held = tombstones.hold(scope, tx, [wanted, *puts.episodes(scope, tx, wanted)], queued=True)
        entry = held[wanted]
        if entry.type is MemoryType.EPISODE:
            return TombstoneStatus.NOT_FOUND
        if entry.status is Status.TOMBSTONED:
            return TombstoneStatus.ALREADY_TOMBSTONED
        cascade = Cascade.TOMBSTONE_DERIVED
        mark = Mark(REASON, cascade, caller.key, policies.audit_seconds(scope, tx))
        deletion.take_away(scope, tx, deletion.reach(scope, tx, held, cascade), held, mark)
    return TombstoneStatus.TOMBSTONED
