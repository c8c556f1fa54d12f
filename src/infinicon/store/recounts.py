"""Counting anew what a counter has not counted, for a slice of a reindex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import TokenCounts
from infinicon.store.database import Transaction
from infinicon.store.slices import Slice

UNCOUNTED = text("""
    SELECT id, content FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id > :after AND id <= :upto AND type <> 'episode' AND content IS NOT NULL
      AND (content_o200k_base IS NULL OR content_cl100k_base IS NULL OR content_chars IS NULL
           OR (CAST(:host AS text) IS NOT NULL AND host_counter IS DISTINCT FROM :host))
    ORDER BY id
""")

# Only what still says what was counted.
RECOUNT = text("""
    UPDATE memories m
    SET content_o200k_base = c.o200k_base, content_cl100k_base = c.cl100k_base, content_chars = c.chars, content_host = c.host,
        host_counter = CAST(:host AS text)
    FROM unnest(CAST(:ids AS uuid[]), CAST(:contents AS text[]), CAST(:o200k_bases AS integer[]), CAST(:cl100k_bases AS integer[]),
                CAST(:chars AS integer[]), CAST(:hosts AS integer[])) AS c (id, content, o200k_base, cl100k_base, chars, host)
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.id = c.id AND m.content = c.content
""")

# Who changes one of these waits, and finds the rows as they are afterwards.
HOLD = text("""
    SELECT id FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id > :after AND id <= :upto AND type <> 'episode' AND status = 'active'
    ORDER BY id FOR NO KEY UPDATE
""")

# Rows that the counters of before have left: each is where its counter has put it.
DROP_ROWS = text("""
    DELETE FROM entry_rows r
    USING (SELECT m.tenant, m.namespace, facets.facet, c.id AS counter,
                  entry_size(c.name, m.content_o200k_base, m.content_cl100k_base, m.content_chars, m.content_host, m.host_counter) AS size,
                  m.created_at, m.id
           FROM memories m, LATERAL entry_facets(m.agent_id, m.session_id, m.tags) AS facets (facet), token_counters c
           WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.id > :after AND m.id <= :upto AND m.type <> 'episode'
             AND c.id <> (SELECT id FROM token_counters ORDER BY used_since DESC, id LIMIT 1)) old
    WHERE r.tenant = old.tenant AND r.namespace = old.namespace AND r.facet = old.facet AND r.counter = old.counter AND r.size = old.size
      AND r.created_at = old.created_at AND r.memory = old.id
""")

ADD_ROWS = text("""
    INSERT INTO entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
    SELECT tenant, namespace, facet, counter, size, created_at, memory FROM derived_entry_rows
    WHERE tenant = :tenant AND namespace = :namespace AND memory > :after AND memory <= :upto
    ON CONFLICT DO NOTHING
""")


def uncounted(tenant: int, tx: Transaction, host: str | None, held: Slice) -> dict[UUID, str]:
    """Contents of the slice's derived memories that lack a count; `host` is the host's own counter, where it has one."""
    rows = tx.execute(UNCOUNTED, {"tenant": tenant, "host": host, **asdict(held)})
    return {row.id: row.content for row in rows}


def recount(
    tenant: int,
    tx: Transaction,
    host: str | None,
    held: Slice,
    texts: Mapping[UUID, str],
    counts: Mapping[UUID, TokenCounts],
) -> None:
    """Keep counts of these texts, and list the slice's entries in the order of the counter that is used now."""
    ids = sorted(texts)
    tx.execute(HOLD, {"tenant": tenant, **asdict(held)})
    if ids:
        tx.execute(
            RECOUNT,
            {
                "tenant": tenant,
                "namespace": held.namespace,
                "host": host,
                "ids": ids,
                "contents": [texts[one] for one in ids],
                "o200k_bases": [counts[one].o200k_base for one in ids],
                "cl100k_bases": [counts[one].cl100k_base for one in ids],
                "chars": [counts[one].chars for one in ids],
                "hosts": [counts[one].host for one in ids],
            },
        )
    tx.execute(DROP_ROWS, {"tenant": tenant, **asdict(held)})
    tx.execute(ADD_ROWS, {"tenant": tenant, **asdict(held)})
