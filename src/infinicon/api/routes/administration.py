"""GET /v0/namespaces, /v0/stats, /v0/episodes and /v0/status: for people who look after memory."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_admin as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import administration as wire
from infinicon.api.wire import parameters
from infinicon.api.wire import status as status_wire
from infinicon.operations import export, namespaces, status
from infinicon.tasks import ping

router = APIRouter()


@router.get("/v0/namespaces", **openapi.LIST_NAMESPACES)
def list_namespaces(call: Admitted) -> Response:
    sent = call.request.query_params
    limit = parameters.limit(sent, usual=wire.NAMESPACES_USUAL, most=wire.NAMESPACES_MOST)
    found, cursor = namespaces.list_namespaces(
        call.runtime.database,
        call.runtime.keyring,
        call.caller,
        parameters.tenant(sent),
        limit,
        parameters.cursor(sent),
    )
    return answer(wire.namespaces_to_wire(found, cursor))


@router.get("/v0/stats", **openapi.STATS)
def stats(call: Admitted) -> Response:
    scope = parameters.scope(call.request.query_params)
    return answer(wire.stats_to_wire(namespaces.count(call.runtime.database, call.caller, scope)))


@router.get("/v0/episodes", **openapi.EXPORT)
def export_episodes(call: Admitted) -> Response:
    sent = call.request.query_params
    limit = parameters.limit(sent, usual=wire.EXPORT_USUAL, most=wire.EXPORT_MOST)
    found, cursor = export.export(
        call.runtime.database,
        call.runtime.keyring,
        call.caller,
        parameters.scope(sent),
        limit,
        parameters.cursor(sent),
    )
    return answer(wire.export_to_wire(found, cursor))


@router.get("/v0/status", **openapi.STATUS)
def read_status(call: Admitted) -> Response:
    own = call.runtime
    tenant, tick = parameters.tenant(call.request.query_params), own.settings.consolidation_tick
    database, work, scheduler = status.look(own.database, call.caller, tenant, tick, own.settings.budget_counter)
    broker = own.settings.broker_url.get_secret_value()
    reached = ping.reachable(broker)
    nodes = ping.answering(broker, timeout=1.0) if reached else ()
    return answer(
        status_wire.to_wire(
            database,
            work,
            scheduler,
            broker=reached,
            workers=dict(sorted(Counter(node.partition("@")[0] for node in nodes).items())),
            model=own.embedder.model.name if own.embedder.ready() else None,
        )
    )
