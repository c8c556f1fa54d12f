"""What the stage extract reads and writes: pending episodes in, atoms and their derived_from links out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Span, TokenCounts
from infinicon.ids import new_id
from infinicon.store.database import Conflict, Transaction


@dataclass(frozen=True, slots=True)
class PendingEpisode:
    """An episode of a batch. `metadata` and `filters` are JSON documents as text: atoms inherit them unread."""

    id: UUID
    namespace: int
    job: UUID
    agent_id: str | None
    session_id: str | None
    filters: str | None  # as Postgres normalises it: equal documents are equal texts
    content_type: str
    content: str
    metadata: str
    occurred_at: datetime | None
    author: str | None  # a person or agent: whoever else made it does not say it
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewAtom:
    """A statement as one episode makes it. Equal (namespace, fingerprint) is the same atom, with one more source. `unit` is what it
    costs in a context, as it is rendered, `own` what its content counts alone."""

    id: UUID
    episode: UUID
    namespace: int
    fingerprint: bytes
    content: str
    atom_type: str
    speaker: str | None
    occurred_at: datetime | None
    confidence: float | None
    span: Span
    whole: bool
    unit: TokenCounts
    own: TokenCounts


@dataclass(frozen=True, slots=True)
class Outcome:
    """What extraction found out about an episode itself."""

    episode: UUID
    search_text: str | None  # None where its content says it
    speaker: str | None
    occurred_at: datetime | None
    embed_self: bool
    unit: TokenCounts | None  # None where an atom stands for it


PENDING = text("""
    SELECT q.episode AS id, q.namespace, q.job, m.agent_id, m.session_id, m.filters::text AS filters, m.content_type, m.content,
           m.metadata::text AS metadata, m.occurred_at,
           CASE WHEN m.created_by ->> 'kind' IN ('user', 'agent') THEN m.created_by ->> 'id' END AS author, m.created_at
    FROM queued_episodes q
    JOIN memories m ON m.tenant = q.tenant AND m.id = q.episode
    WHERE q.tenant = :tenant AND q.batch = :batch AND m.status = 'pending' AND NOT m.put
    ORDER BY q.episode
""")

# An atom inherits scope, metadata, tags, author and expiry from the episode that states it first.
INSERT_ATOMS = text("""
    INSERT INTO memories (tenant, namespace, type, status, agent_id, session_id, filters, id, content_type, content, speaker,
                          atom_type, confidence, created_by, producer, metadata, tags, fingerprint, occurred_at, expires_at, renderer,
                          unit_o200k_base, unit_cl100k_base, unit_chars, content_o200k_base, content_cl100k_base, content_chars,
                          content_host, host_counter)
    SELECT :tenant, e.namespace, 'atom', 'pending', e.agent_id, e.session_id, e.filters, a.id, 'text/plain', a.content, a.speaker,
           a.atom_type, a.confidence, e.created_by, :producer, e.metadata, e.tags, a.fingerprint, a.occurred_at, e.expires_at, :renderer,
           a.unit_o200k_base, a.unit_cl100k_base, a.unit_chars, a.content_o200k_base, a.content_cl100k_base, a.content_chars,
           a.content_host, :host_counter
    FROM unnest(CAST(:ids AS uuid[]), CAST(:episodes AS uuid[]), CAST(:contents AS text[]), CAST(:speakers AS text[]),
                CAST(:atom_types AS text[]), CAST(:confidences AS real[]), CAST(:fingerprints AS bytea[]),
                CAST(:occurred_ats AS timestamptz[]), CAST(:unit_o200k_bases AS integer[]), CAST(:unit_cl100k_bases AS integer[]),
                CAST(:unit_chars AS integer[]), CAST(:content_o200k_bases AS integer[]), CAST(:content_cl100k_bases AS integer[]),
                CAST(:content_chars AS integer[]), CAST(:content_hosts AS integer[]))
         AS a (id, episode, content, speaker, atom_type, confidence, fingerprint, occurred_at, unit_o200k_base, unit_cl100k_base,
               unit_chars, content_o200k_base, content_cl100k_base, content_chars, content_host)
    JOIN memories e ON e.tenant = :tenant AND e.id = a.episode AND e.status = 'pending'
    ORDER BY e.namespace, a.fingerprint, a.episode
    ON CONFLICT (tenant, namespace, fingerprint) WHERE fingerprint IS NOT NULL DO NOTHING
    RETURNING id
""")

# A tombstone that has the atom in hand is waited for, and then its fingerprint is gone; one that comes later waits for us, and then sees
# that this episode says the same.
FIND_ATOMS = text("""
    SELECT m.id, m.namespace, m.fingerprint
    FROM unnest(CAST(:namespaces AS integer[]), CAST(:fingerprints AS bytea[])) AS a (namespace, fingerprint)
    JOIN memories m ON m.tenant = :tenant AND m.namespace = a.namespace AND m.fingerprint = a.fingerprint
    ORDER BY m.id FOR KEY SHARE OF m
""")

# Whoever cancels or tombstones an episode takes it out of its batch first, and so waits for this, or is seen by it.
HOLD_QUEUED = text("""
    SELECT q.episode FROM queued_episodes q JOIN memories m ON m.tenant = q.tenant AND m.id = q.episode AND m.status = 'pending'
    WHERE q.tenant = :tenant AND q.batch = :batch ORDER BY q.episode FOR UPDATE OF q
""")

INSERT_LINKS = text("""
    INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type, span_start, span_end, span_path, whole,
                       speaker, occurred_at)
    SELECT :tenant, l.id, l.namespace, 'derived_from', l.atom, 'atom', l.episode, 'episode', l.span_start, l.span_end, l.span_path,
           l.whole, l.speaker, l.occurred_at
    FROM unnest(CAST(:ids AS uuid[]), CAST(:namespaces AS integer[]), CAST(:atoms AS uuid[]), CAST(:episodes AS uuid[]),
                CAST(:starts AS integer[]), CAST(:ends AS integer[]), CAST(:paths AS text[]), CAST(:wholes AS boolean[]),
                CAST(:speakers AS text[]), CAST(:occurred_ats AS timestamptz[]))
         AS l (id, namespace, atom, episode, span_start, span_end, span_path, whole, speaker, occurred_at)
    ORDER BY l.atom, l.episode
    ON CONFLICT ON CONSTRAINT links_edge_key DO NOTHING
""")

# A statement lives as long as the longest lived episode that makes it. Locked in the order of ids, as index does.
PROLONG = text("""
    WITH wanted AS (
        SELECT s.atom, bool_or(e.expires_at IS NULL) AS forever, max(e.expires_at) AS until
        FROM unnest(CAST(:atoms AS uuid[]), CAST(:episodes AS uuid[])) AS s (atom, episode)
        JOIN memories e ON e.tenant = :tenant AND e.id = s.episode
        GROUP BY s.atom
    ), held AS (
        SELECT m.id, wanted.forever, wanted.until
        FROM memories m JOIN wanted ON wanted.atom = m.id
        WHERE m.tenant = :tenant AND m.expires_at IS NOT NULL
        ORDER BY m.id FOR UPDATE OF m
    )
    UPDATE memories m SET expires_at = CASE WHEN held.forever THEN NULL ELSE held.until END, updated_at = now()
    FROM held WHERE m.tenant = :tenant AND m.id = held.id AND (held.forever OR held.until > m.expires_at)
""")

RECORD_OUTCOMES = text("""
    WITH found AS (
        SELECT o.*
        FROM unnest(CAST(:episodes AS uuid[]), CAST(:search_texts AS text[]), CAST(:speakers AS text[]),
                    CAST(:occurred_ats AS timestamptz[]), CAST(:embed_selfs AS boolean[]),
                    CAST(:renderers AS smallint[]), CAST(:unit_o200k_bases AS integer[]), CAST(:unit_cl100k_bases AS integer[]),
                    CAST(:unit_chars AS integer[]))
             AS o (episode, search_text, speaker, occurred_at, embed_self, renderer, unit_o200k_base, unit_cl100k_base, unit_chars)
    ), described AS (
        UPDATE memories m
        SET search_text = found.search_text, speaker = found.speaker, occurred_at = found.occurred_at, renderer = found.renderer,
            unit_o200k_base = found.unit_o200k_base, unit_cl100k_base = found.unit_cl100k_base, unit_chars = found.unit_chars
        FROM found
        WHERE m.tenant = :tenant AND m.id = found.episode
          AND (m.search_text, m.speaker, m.occurred_at, m.renderer, m.unit_o200k_base, m.unit_cl100k_base, m.unit_chars)
              IS DISTINCT FROM (found.search_text, found.speaker, found.occurred_at, found.renderer, found.unit_o200k_base,
                                found.unit_cl100k_base, found.unit_chars)
    )
    UPDATE queued_episodes q SET embed_self = found.embed_self
    FROM found WHERE q.tenant = :tenant AND q.episode = found.episode AND q.embed_self <> found.embed_self
""")


def pending(tenant: int, tx: Transaction, batch: UUID) -> list[PendingEpisode]:
    """The batch's episodes that still wait, in the order of their ids. What put stored has its atom already."""
    rows = tx.execute(PENDING, {"tenant": tenant, "batch": batch})
    return [PendingEpisode(*row) for row in rows]


def hold(tenant: int, tx: Transaction, batch: UUID) -> set[UUID]:
    """The episodes that are still pending in the batch, locked in it until commit."""
    return {row.episode for row in tx.execute(HOLD_QUEUED, {"tenant": tenant, "batch": batch})}


def insert(tenant: int, tx: Transaction, producer: str, renderer: int, atoms: Sequence[NewAtom]) -> set[UUID]:
    """Store statements and link each to the episode that makes it; answers with the ids that are new. Twice changes nothing.

    The episodes are held (`hold`). `renderer` is the version by which units were rendered.

    Raises:
        Conflict: the atoms that others had stated went again and again while we looked.
    """
    new: set[UUID] = set()
    edges: list[tuple[NewAtom, UUID]] = []
    missing = list(atoms)
    for _ in range(3):
        if not missing:
            break
        new |= _create(tenant, tx, producer, renderer, missing)
        found = _find(tenant, tx, missing)
        edges += _edges(missing, found)
        missing = [a for a in missing if (a.namespace, a.fingerprint) not in found]
    if missing:
        raise Conflict("other statements of the same went meanwhile; try again")
    if edges:
        _link(tenant, tx, edges)
        _prolong(tenant, tx, edges, new)
    return new


def _create(tenant: int, tx: Transaction, producer: str, renderer: int, atoms: Sequence[NewAtom]) -> set[UUID]:
    created = tx.execute(
        INSERT_ATOMS,
        {
            "tenant": tenant,
            "producer": producer,
            "renderer": renderer,
            "ids": [a.id for a in atoms],
            "episodes": [a.episode for a in atoms],
            "contents": [a.content for a in atoms],
            "speakers": [a.speaker for a in atoms],
            "atom_types": [a.atom_type for a in atoms],
            "confidences": [a.confidence for a in atoms],
            "fingerprints": [a.fingerprint for a in atoms],
            "occurred_ats": [a.occurred_at for a in atoms],
            **_columns("unit", [a.unit for a in atoms]),
            **_columns("content", [a.own for a in atoms]),
            "content_hosts": [a.own.host for a in atoms],
            "host_counter": next((a.own.host_counter for a in atoms), None),  # one process has one
        },
    )
    return {row.id for row in created}


def _find(tenant: int, tx: Transaction, atoms: Sequence[NewAtom]) -> Mapping[tuple[int, bytes], UUID]:
    keys = sorted({(a.namespace, a.fingerprint) for a in atoms})
    rows = tx.execute(
        FIND_ATOMS,
        {"tenant": tenant, "namespaces": [key[0] for key in keys], "fingerprints": [key[1] for key in keys]},
    )
    return {(row.namespace, bytes(row.fingerprint)): row.id for row in rows}


def _edges(atoms: Sequence[NewAtom], found: Mapping[tuple[int, bytes], UUID]) -> list[tuple[NewAtom, UUID]]:
    return [(a, found[a.namespace, a.fingerprint]) for a in atoms if (a.namespace, a.fingerprint) in found]


def _prolong(tenant: int, tx: Transaction, edges: Sequence[tuple[NewAtom, UUID]], new: Collection[UUID]) -> None:
    """For atoms that an episode states which did not make them."""
    again = [(atom, a.episode) for a, atom in edges if a.id not in new]
    if again:
        tx.execute(
            PROLONG,
            {"tenant": tenant, "atoms": [atom for atom, _ in again], "episodes": [episode for _, episode in again]},
        )


def _link(tenant: int, tx: Transaction, edges: Sequence[tuple[NewAtom, UUID]]) -> None:
    tx.execute(
        INSERT_LINKS,
        {
            "tenant": tenant,
            "ids": [new_id() for _ in edges],
            "namespaces": [a.namespace for a, _ in edges],
            "atoms": [atom for _, atom in edges],
            "episodes": [a.episode for a, _ in edges],
            "starts": [a.span.start for a, _ in edges],
            "ends": [a.span.end for a, _ in edges],
            "paths": [a.span.path for a, _ in edges],
            "wholes": [a.whole for a, _ in edges],
            "speakers": [a.speaker for a, _ in edges],
            "occurred_ats": [a.occurred_at for a, _ in edges],
        },
    )


def _columns(of: str, counts: Sequence[TokenCounts | None]) -> dict[str, list[int | None]]:
    """Counts as the arrays that a statement takes."""
    known = [count or TokenCounts() for count in counts]
    return {
        f"{of}_o200k_bases": [count.o200k_base for count in known],
        f"{of}_cl100k_bases": [count.cl100k_base for count in known],
        f"{of}_chars": [count.chars for count in known],
    }


def record(tenant: int, tx: Transaction, renderer: int, outcomes: Sequence[Outcome]) -> None:
    """Keep what extraction found out about the episodes themselves."""
    if outcomes:
        tx.execute(
            RECORD_OUTCOMES,
            {
                "tenant": tenant,
                "episodes": [o.episode for o in outcomes],
                "search_texts": [o.search_text for o in outcomes],
                "speakers": [o.speaker for o in outcomes],
                "occurred_ats": [o.occurred_at for o in outcomes],
                "embed_selfs": [o.embed_self for o in outcomes],
                "renderers": [None if o.unit is None else renderer for o in outcomes],
                **_columns("unit", [o.unit for o in outcomes]),
            },
        )
