"""What put stores beside its episode: one atom that says all of it, word for word, and is there at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ScopeKey, TokenCounts
from infinicon.ids import new_id
from infinicon.store.database import Transaction

PRODUCER = "put@1"
"""Where provenance names who made the atom. It is this house, and no plug-in."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The atom of a put. `unit` is what it costs in a context, `own` what its content counts alone."""

    id: UUID
    episode: UUID
    content: str
    unit: TokenCounts
    own: TokenCounts


# Author, filters, tags and expiry are the episode's. No fingerprint: two puts of one text are two entries.
INSERT_ATOM = text("""
    INSERT INTO memories (tenant, namespace, type, status, agent_id, session_id, filters, id, content_type, content, atom_type, created_by,
                          producer, tags, expires_at, put, renderer, unit_o200k_base, unit_cl100k_base, unit_chars, content_o200k_base,
                          content_cl100k_base, content_chars, content_host, host_counter)
    SELECT :tenant, :namespace, 'atom', 'active', e.agent_id, e.session_id, e.filters, :id, 'text/plain', :content, 'statement',
           e.created_by, :producer, e.tags, e.expires_at, true, :renderer, :unit_o200k_base, :unit_cl100k_base, :unit_chars,
           :content_o200k_base, :content_cl100k_base, :content_chars, :content_host, :host_counter
    FROM memories e WHERE e.tenant = :tenant AND e.id = :episode
    RETURNING created_at
""")

INSERT_LINK = text("""
    INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type, span_start, span_end, span_path, whole)
    VALUES (:tenant, :link, :namespace, 'derived_from', :id, 'atom', :episode, 'episode', 0, :length, '', true)
""")

MARK_EPISODE = text("UPDATE memories SET put = true WHERE tenant = :tenant AND id = :episode")

# The atom stands for the whole of it, as it would after an extraction.
MARK_QUEUED = text("UPDATE queued_episodes SET embed_self = false WHERE tenant = :tenant AND episode = :episode")

EPISODES = text("""
    SELECT e.id
    FROM memories a
    JOIN links l ON l.tenant = a.tenant AND l.from_id = a.id AND l.link_type = 'derived_from'
    JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id AND e.put
    WHERE a.tenant = :tenant AND a.namespace = :namespace AND a.id = :id AND a.put
""")


def state(scope: ScopeKey, tx: Transaction, renderer: int, atom: Verbatim) -> datetime:
    """Store the atom of an episode that is stored and queued, and have nothing extracted from that; when the atom was made."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "id": atom.id, "episode": atom.episode}
    tx.execute(MARK_EPISODE, key)
    tx.execute(MARK_QUEUED, key)
    created_at: datetime = tx.execute(
        INSERT_ATOM,
        {
            **key,
            "content": atom.content,
            "producer": PRODUCER,
            "renderer": renderer,
            "unit_o200k_base": atom.unit.o200k_base,
            "unit_cl100k_base": atom.unit.cl100k_base,
            "unit_chars": atom.unit.chars,
            "content_o200k_base": atom.own.o200k_base,
            "content_cl100k_base": atom.own.cl100k_base,
            "content_chars": atom.own.chars,
            "content_host": atom.own.host,
            "host_counter": atom.own.host_counter,
        },
    ).scalar_one()
    tx.execute(INSERT_LINK, {**key, "link": new_id(), "length": len(atom.content)})
    return created_at


def episodes(scope: ScopeKey, tx: Transaction, atom: UUID) -> Sequence[UUID]:
    """What put stored with this atom; nothing for an atom that was extracted."""
    return [row.id for row in tx.execute(EPISODES, {"tenant": scope.tenant, "namespace": scope.namespace, "id": atom})]
