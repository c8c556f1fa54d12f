"""Listings: what a query found, in order, kept while its pages are read. Ids and scores, no text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ScopeKey
from infinicon.store.database import Transaction, unscoped


@dataclass(frozen=True, slots=True)
class Listing:
    """Memories, the best first, each with its score and its cosine similarity. `complete`: there were no others.

    `question` is the digest of what was asked.
    """

    question: bytes
    memories: Sequence[UUID]
    scores: Sequence[float]
    similarities: Sequence[float | None]
    complete: bool


KEEP = text("""
    INSERT INTO query_pages (tenant, id, namespace, question, memories, scores, similarities, complete, expires_at)
    VALUES (:tenant, :id, :namespace, :question, CAST(:memories AS uuid[]), CAST(:scores AS real[]), CAST(:similarities AS real[]),
            :complete, now() + make_interval(secs => :seconds))
""")

FIND = text("""
    SELECT question, memories, scores, similarities, complete FROM query_pages
    WHERE tenant = :tenant AND namespace = :namespace AND id = :id AND expires_at > now()
""")

# Two readers that want a longer list at once get the same one.
HOLD = text("""
    SELECT question, memories, scores, similarities, complete FROM query_pages
    WHERE tenant = :tenant AND namespace = :namespace AND id = :id AND expires_at > now() FOR UPDATE
""")

EXTEND = text("""
    UPDATE query_pages
    SET memories = memories || CAST(:memories AS uuid[]), scores = scores || CAST(:scores AS real[]),
        similarities = similarities || CAST(:similarities AS real[]), complete = :complete
    WHERE tenant = :tenant AND namespace = :namespace AND id = :id
""")

FORGET = text("DELETE FROM query_pages WHERE expires_at < now()")


def keep(scope: ScopeKey, tx: Transaction, listing_id: UUID, listing: Listing, seconds: float) -> None:
    """Store a new listing for so long."""
    more = {"question": listing.question, "seconds": seconds}
    tx.execute(KEEP, {**_key(scope, listing_id), **_lists(listing), **more})


def find(scope: ScopeKey, tx: Transaction, listing_id: UUID, *, held: bool = False) -> Listing | None:
    """A listing of the scope's namespace that is still kept; `held` keeps others from extending it until the transaction ends."""
    row = tx.execute(HOLD if held else FIND, _key(scope, listing_id)).one_or_none()
    if row is None:
        return None
    return Listing(bytes(row.question), row.memories, row.scores, row.similarities, row.complete)


def extend(scope: ScopeKey, tx: Transaction, listing_id: UUID, more: Listing) -> None:
    """Append to a listing that is held."""
    tx.execute(EXTEND, {**_key(scope, listing_id), **_lists(more)})


@unscoped("listings of all tenants run out alike")
def forget(tx: Transaction) -> int:
    """Drop the listings whose time is over; how many went."""
    return tx.execute(FORGET).rowcount


def _key(scope: ScopeKey, listing_id: UUID) -> dict[str, object]:
    return {"tenant": scope.tenant, "namespace": scope.namespace, "id": listing_id}


def _lists(listing: Listing) -> dict[str, object]:
    return {
        "memories": list(listing.memories),
        "scores": list(listing.scores),
        "similarities": list(listing.similarities),
        "complete": listing.complete,
    }
