"""recount: a reindex counts what no counter of today has counted, so that no budget has to do it when it reads."""

from __future__ import annotations

from infinicon.operations.counting import Counters
from infinicon.store import entries, recounts
from infinicon.store.database import Database, retry_conflicts
from infinicon.store.slices import Slice


@retry_conflicts
def recount(database: Database, counters: Counters, tenant: int, held: Slice) -> None:
    """Count the slice's memories that lack a count, and put all of its entries where the counter of budgets wants them."""
    with database.transaction(tenant) as tx:
        texts = recounts.uncounted(tenant, tx, counters.host, held)
    counts = {one: counters.stored(text) for one, text in texts.items()}
    with database.transaction(tenant) as tx:
        entries.use_counter(tx, counters.budget)
        recounts.recount(tenant, tx, counters.host, held, texts, counts)
