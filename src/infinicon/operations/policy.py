"""A namespace's policy: how long things are kept in it, and when it is consolidated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infinicon.domain import Caller, Permission, Policy, Scope
from infinicon.operations import crontab, scopes
from infinicon.store import policies, schedules, tombstones
from infinicon.store.database import Database, retry_conflicts


def get_policy(database: Database, caller: Caller, scope: Scope) -> Policy:
    """The policy of the scope's namespace; a namespace that does not exist yet has the defaults.

    Raises:
        Unauthorized: the key may not administer this namespace.
    """
    with database.transaction(caller.tenant) as tx:
        return policies.read(scopes.resolve(tx, caller, scope, Permission.ADMIN), tx)


@retry_conflicts
def set_policy(database: Database, caller: Caller, scope: Scope, changes: Mapping[str, Any]) -> Policy:
    """Change some members of the policy, by the names of domain.Policy; the others stay. Makes the namespace if it is new.

    It counts for what happens from now on: an expiresAt that is set stays as it is. But what is kept for an audit is kept no longer than
    the policy says now. When consolidations are due
    is settled anew in the same transaction; those that run stay as they began.

    Raises:
        InvalidRequest: the scope is narrower than a namespace.
        ValueError: the schedule is a text and no crontab.
        Unauthorized: the key may not administer this namespace.
    """
    scopes.check_whole(scope, "a policy is a whole namespace's")
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.ADMIN, create=True)
        changed = replace(policies.read(key, tx), **dict(changes))
        schedule = changed.consolidation_schedule
        policies.write(key, tx, changed, crontab.bits(schedule) if isinstance(schedule, str) else None)
        if "audit_seconds" in changes:
            tombstones.shorten_audits(key, tx, changed.audit_seconds)
        if any(name.startswith("consolidation_") for name in changes):
            schedules.recompute(key, tx, changed.consolidation_width)
    return changed
