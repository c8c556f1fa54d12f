"""What consistency `strong` means: the answer sees everything that the scope had accepted before the request."""

from __future__ import annotations

from infinicon.api.entry import Call, in_thread
from infinicon.domain import Permission, Scope
from infinicon.errors import ConsistencyUnavailable
from infinicon.operations import waiting


async def until_quiet(call: Call, scope: Scope, permission: Permission) -> None:
    """Return when everything that was accepted in the scope before now is processed. Raises ConsistencyUnavailable, Unauthorized."""
    now = await in_thread(waiting.now, call.runtime.database)
    if not await in_thread(waiting.pending, call.runtime.database, call.caller, scope, now, permission):
        return
    call.leave_gate()
    if not await call.house.waiting.until_nothing_pending(call.caller, scope, now, permission):
        raise ConsistencyUnavailable("work accepted before this request is still pending; try again, or ask eventual")
