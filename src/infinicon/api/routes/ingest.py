"""POST /v0/ingest."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, Call, in_thread
from infinicon.api.wire import ingest as wire
from infinicon.api.wire.shared import fault_to_wire, ref_to_wire
from infinicon.domain import IngestReply, IngestStatus
from infinicon.errors import IndexTimeout, Overloaded, Unavailable
from infinicon.operations import ingest, waiting

router = APIRouter()


@router.post("/v0/ingest", **openapi.INGEST)
async def ingest_episodes(call: Admitted) -> Response:
    asked = await in_thread(wire.parse, call.body, call.request.headers.get("idempotency-key"))
    own = call.runtime
    reply = await in_thread(ingest.ingest, own.database, own.keyring, own.extractor, call.caller, asked.request)
    call.house.dispatcher.wake()
    if asked.indexed:
        await until_visible(call, reply)
    return answer(await in_thread(wire.to_wire, reply))


async def until_visible(call: Call, reply: IngestReply) -> None:
    """Return when query sees every created or deduplicated episode.

    Raises:
        IndexTimeout: not in time; or some failed on their way, and then details.failed names each with its error.
    """
    stored = {result.ref.id: result.ref for result in reply.results if result.status is not IngestStatus.REJECTED}
    if not stored:
        return
    details = wire.to_wire(reply)
    call.leave_gate()
    try:
        in_time = await call.house.waiting.until_indexed(call.caller.tenant, stored)
    except (Overloaded, Unavailable):  # nobody may wait now, but what is stored is stored, and the answer must say so
        in_time = False
    if not in_time:
        raise IndexTimeout("the episodes are stored, but not all of them were indexed in time", details=details)
    failed = await in_thread(waiting.failed, call.runtime.database, call.caller.tenant, list(stored))
    if failed:
        details["failed"] = [
            {"ref": ref_to_wire(stored[episode]), "error": fault_to_wire(fault)} for episode, fault in failed.items()
        ]
        raise IndexTimeout("the episodes are stored, but some of them could not be indexed", details=details)
