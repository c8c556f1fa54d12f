"""POST and GET /v0/memory/list, POST /v0/memory/put, GET and DELETE /v0/memory/entries/{id}; and the bindings of memoryRefs."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_entries as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, Call
from infinicon.api.wire import bindings as bindings_wire
from infinicon.api.wire import entries as wire
from infinicon.api.wire import parameters
from infinicon.domain import ListRequest
from infinicon.operations import bindings, entries, put

router = APIRouter()


@router.post("/v0/memory/list", **openapi.LIST)
def list_entries(call: Admitted) -> Response:
    return _listed(call, wire.parse_list(call.body))


@router.get("/v0/memory/list", **openapi.READ_LIST)
def read_list(call: Admitted) -> Response:
    return _listed(call, wire.list_parameters(call.request.query_params))


def _listed(call: Call, request: ListRequest) -> Response:
    own = call.runtime
    return answer(
        wire.list_to_wire(entries.list_entries(own.database, own.embedder, own.counters, call.caller, request))
    )


@router.post("/v0/memory/put", **openapi.PUT)
def put_entry(call: Admitted) -> Response:
    own = call.runtime
    request = wire.parse_put(call.body, call.request.headers.get("idempotency-key"))
    reply = put.put(own.database, own.keyring, own.counters, call.caller, request)
    call.house.dispatcher.wake()
    return answer(wire.put_to_wire(reply))


@router.get("/v0/memory/entries/{id}", **openapi.GET)
def get_entry(call: Admitted) -> Response:
    ref = wire.ref_parameter(call.request.query_params)
    entry = entries.get_entry(call.runtime.database, call.caller, ref, call.request.path_params["id"])
    return answer(wire.get_to_wire(entry))


@router.delete("/v0/memory/entries/{id}", **openapi.DELETE)
def delete_entry(call: Admitted) -> Response:
    ref = wire.ref_parameter(call.request.query_params)
    status = entries.delete_entry(call.runtime.database, call.caller, ref, call.request.path_params["id"])
    return answer({"status": status.value})


@router.get("/v0/memory/bindings", **openapi.LIST_BINDINGS)
def list_bindings(call: Admitted) -> Response:
    sent = call.request.query_params
    limit = parameters.limit(sent, usual=bindings_wire.BINDINGS_USUAL, most=bindings_wire.BINDINGS_MOST)
    found, more = bindings.list_bindings(call.runtime.database, call.caller, bindings_wire.after(sent), limit)
    return answer(bindings_wire.page_to_wire(found, more=more))


@router.put("/v0/memory/bindings", **openapi.BIND)
def bind(call: Admitted) -> Response:
    ref, scope = bindings_wire.parse(call.body)
    binding = bindings.bind(call.runtime.database, call.runtime.keyring, call.caller, ref, scope)
    return answer({"binding": bindings_wire.to_wire(binding)})


@router.delete("/v0/memory/bindings", **openapi.UNBIND)
def unbind(call: Admitted) -> Response:
    ref = wire.ref_parameter(call.request.query_params)
    return answer({"deleted": bindings.unbind(call.runtime.database, call.caller, ref)})
