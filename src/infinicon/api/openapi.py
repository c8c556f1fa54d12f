"""The OpenAPI document. Bodies are parsed by our own strict reader, so their schemas are attached here, from the same models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from infinicon.api import (
    limits,
    openapi_admin,
    openapi_consolidation,
    openapi_deletion,
    openapi_entries,
    openapi_events,
    openapi_jobs,
    openapi_secrets,
)
from infinicon.api.openapi_parts import (
    EPISODE_REF,
    SCHEMAS,
    SCOPE,
    WITH_BODY,
    health,
    operation,
    parameter,
    scope_parameters,
    without_body,
)
from infinicon.api.wire.context import AssembleContextReply, AssembleContextRequest
from infinicon.api.wire.discovery import OpenwopDiscovery
from infinicon.api.wire.hydrate import HydrateReply, HydrateRequest
from infinicon.api.wire.ingest import IngestEpisode, IngestReply, IngestRequest
from infinicon.api.wire.jobs import GetJobRequest, Job
from infinicon.api.wire.query import QueryReply, QueryRequest
from infinicon.api.wire.shared import MemoryApiError
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission
from infinicon.settings import Settings

MODELS: Sequence[type[Body]] = (
    IngestRequest,
    IngestEpisode,
    IngestReply,
    QueryRequest,
    QueryReply,
    HydrateRequest,
    HydrateReply,
    AssembleContextRequest,
    AssembleContextReply,
    GetJobRequest,
    Job,
    MemoryApiError,
    OpenwopDiscovery,
    *openapi_admin.MODELS,
    *openapi_consolidation.MODELS,
    *openapi_deletion.MODELS,
    *openapi_entries.MODELS,
    *openapi_events.MODELS,
    *openapi_jobs.MODELS,
    *openapi_secrets.MODELS,
)

DESCRIPTION = """A self-hosted memory runtime for AI agents: Memory API v0.

**Keys.** `Authorization: Bearer KEY` on every route under /v0. The key says who the tenant is; `scope.tenantId` must agree.

**Errors.** Every 4xx and 5xx has a MemoryApiError as its body: a stable `code`, a `message` for people, and whether a retry can
help (`retryable`). It names fields and rules and never repeats what was sent. The fault of one episode is the `error` of its result
in a 200, beside accepted neighbours: `invalid_request`, `invalid_content` (NUL, lone surrogates, not of its contentType),
`too_large`, `unsupported_media_type`, `dedupe_conflict`.

**JSON** is strict UTF-8: no NaN or Infinity, no number beyond a double, nesting at most 64 levels, at most a million values,
no two members of the same name in one object. Unknown fields are tolerated. A query parameter is there once (but for `eventTypes`). Times
are RFC 3339 with a zone, within the years 0001 to 9999.

**Waiting.** `consistency: indexed` on ingest answers when every created or deduplicated episode is visible to query; otherwise the
answer is 504 `index_timeout`, whose `details` hold `jobId` and `results` (the episodes are stored all the same), and `failed` with
the error of each episode that failed on its way. `consistency: strong` on query and assembleContext waits for what was accepted in
the scope before; otherwise the answer is 504 `consistency_unavailable`.

**Pages of query.** A cursor leads to the next page of the same answer: scope, query and filters are sent along as they were, and no ref
comes twice. `invalid_cursor` where it was never given, is older than `queryCursorSeconds`, or belongs to another query or other
filters; `scope_mismatch` where it is another scope's.

**Events.** A cursor is opaque, and good for the scope it was given for: `invalid_cursor` where it was never given, was changed, or
stands before what is kept or behind the last event; `scope_mismatch` where it is another scope's.

**Limits** are in `x-limits`: sizes in bytes of UTF-8, lengths in Unicode code points. A body over its limit is 413. More
requests at once than `concurrentRequests` are 429 with Retry-After; one key may have half of these places, one tenant three quarters.
So are more than `keyRequestsPerMinute` of one key (0: no limit), counted in each process of the API.
"""

INGEST = operation(
    "ingest",
    "Write one or more episodes into memory",
    request=IngestRequest,
    reply=IngestReply,
    permission=Permission.INGEST,
    statuses=(*WITH_BODY, 422, 504),
    example={
        "scope": SCOPE,
        "episodes": [
            {"contentType": "text/plain", "content": "The gate code is on the blue tag.", "dedupeKey": "note-1"}
        ],
    },
    parameters=[
        parameter(
            "Idempotency-Key",
            "header",
            "Visible ASCII. The same key with the same body replays the whole reply; with another body it is a conflict.",
            required=False,
            longest=limits.IDEMPOTENCY_KEY_CHARACTERS,
        )
    ],
)
QUERY = operation(
    "query",
    "Find memory: ranked refs, without content",
    request=QueryRequest,
    reply=QueryReply,
    permission=Permission.QUERY,
    statuses=(*WITH_BODY, 504),
    example={"scope": SCOPE, "query": "Where is the gate code?", "limit": 5},
)
HYDRATE = operation(
    "hydrate",
    "Load whole objects for refs",
    request=HydrateRequest,
    reply=HydrateReply,
    permission=Permission.HYDRATE,
    statuses=WITH_BODY,
    example={"scope": SCOPE, "refs": [EPISODE_REF], "includeProvenance": True},
)
ASSEMBLE_CONTEXT = operation(
    "assembleContext",
    "Assemble what an agent should know for a task, within a budget",
    request=AssembleContextRequest,
    reply=AssembleContextReply,
    permission=Permission.ASSEMBLE,
    statuses=(*WITH_BODY, 504),
    example={
        "scope": SCOPE,
        "task": "Plan the weekend with Rosa.",
        "budget": {"maxTokens": 2000, "reservedTokens": 500},
        "format": "text",
    },
)
GET_JOB = operation(
    "getJob",
    "What became of accepted work",
    request=GetJobRequest,
    reply=Job,
    permission=Permission.JOBS,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE, "jobId": "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e"},
)
READ_JOB = operation(
    "readJob",
    "What became of accepted work (the same answer as getJob)",
    reply=Job,
    permission=Permission.JOBS,
    statuses=(400, 401, 403, 404, 429, 500, 503),
    parameters=[
        parameter("jobId", "path", "From the reply of ingest.", required=True, longest=limits.IDENTIFIER_CHARACTERS),
        *scope_parameters(),
    ],
)
HEALTHZ = health("healthz", "Does the process live?", "ok")
READYZ = health(
    "readyz",
    "Can it serve: database, schema, encoder and token counters?",
    "ready",
    failures=(503,),
    warnings=("disk_full",),
)
HEALTHZ_HEAD, READYZ_HEAD = without_body(HEALTHZ), without_body(READYZ)

DISCOVERY = operation(
    "openwop",
    "What of OpenWOP runs here, for hosts that look before they call",
    reply=OpenwopDiscovery,
    statuses=(429, 500, 503),
    keyless=True,
)


def _without_null_defaults(schema: Any) -> Any:
    """An absent member has no value at all, so a default of null would say something else (and not fit its own type)."""
    if isinstance(schema, dict):
        kept = {name: part for name, part in schema.items() if not (name == "default" and part is None)}
        return {name: _without_null_defaults(part) for name, part in kept.items()}
    return [_without_null_defaults(part) for part in schema] if isinstance(schema, list) else schema


def build(app: FastAPI, settings: Settings) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, definitions = models_json_schema([(model, "validation") for model in MODELS], ref_template=SCHEMAS)
    document["components"] = {
        "schemas": {name: _without_null_defaults(schema) for name, schema in sorted(definitions["$defs"].items())},
        "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key of one tenant."}},
    }
    document["x-limits"] = limits.document(
        body_bytes=settings.max_body_bytes,
        concurrent_requests=settings.max_concurrent_requests,
        key_requests=settings.key_requests_per_minute,
        wait_seconds=settings.index_wait,
    )
    return document


def install(app: FastAPI, settings: Settings) -> None:
    """Make /openapi.json answer with our document, built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = build(app, settings)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents it
