"""What episodes say and is held no more. `links.retracted` of a derived_from link is the atom's status where that is so.

An atom that was folded into another one is not retracted: what it says holds, in other words.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from infinicon.store.database import Transaction

MARK = text("""
    UPDATE links l SET retracted = now_.retracted
    FROM (SELECT a.id,
                 CASE WHEN a.status IN ('disputed', 'tombstoned')
                        OR (a.status = 'superseded'
                            AND NOT EXISTS (SELECT FROM links s WHERE s.tenant = a.tenant AND s.to_id = a.id
                                              AND s.link_type = 'same_as' AND s.status = 'active'))
                      THEN a.status END AS retracted
          FROM memories a
          WHERE a.tenant = :tenant AND a.id = ANY(CAST(:ids AS uuid[])) AND a.type = 'atom') now_,
         memories e
    WHERE l.tenant = :tenant AND l.from_id = now_.id AND l.link_type = 'derived_from'
      AND l.retracted IS DISTINCT FROM now_.retracted
      AND e.tenant = :tenant AND e.id = l.to_id AND e.status <> 'tombstoned'
""")


def mark(tenant: int, tx: Transaction, memories: Collection[UUID]) -> None:
    """Say on the links of those of the memories that are atoms whether what they say is held. Call it after any change of their status."""
    if memories:
        tx.execute(MARK, {"tenant": tenant, "ids": sorted(memories)})
