"""The operations by which memory goes, and by which people say what holds."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.api.openapi_parts import EPISODE_REF, SCOPE, WITH_BODY, operation, scope_parameters
from infinicon.api.wire.corrections import CorrectionReply, DisputeRequest, ResolveRequest
from infinicon.api.wire.jobs import Job
from infinicon.api.wire.policy import EraseRequest, PolicyReply, PolicyRequest
from infinicon.api.wire.tombstone import TombstoneReply, TombstoneRequest
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (
    TombstoneRequest,
    TombstoneReply,
    PolicyRequest,
    PolicyReply,
    EraseRequest,
    DisputeRequest,
    ResolveRequest,
    CorrectionReply,
)

TOMBSTONE = operation(
    "tombstone",
    "Delete memory, at once and for good",
    request=TombstoneRequest,
    reply=TombstoneReply,
    permission=Permission.TOMBSTONE,
    statuses=WITH_BODY,
    example={
        "scope": SCOPE,
        "refs": [EPISODE_REF],
        "reason": "asked for by its author",
        "cascadePolicy": "tombstone_derived",
    },
)
GET_POLICY = operation(
    "getPolicy",
    "How long a namespace keeps things, and when it is consolidated",
    reply=PolicyReply,
    permission=Permission.ADMIN,
    statuses=(400, 401, 403, 429, 500, 503),
    parameters=scope_parameters(agents=False),
)
SET_POLICY = operation(
    "setPolicy",
    "Change how long a namespace keeps things, and when it is consolidated",
    request=PolicyRequest,
    reply=PolicyReply,
    permission=Permission.ADMIN,
    statuses=WITH_BODY,
    example={
        "scope": SCOPE,
        "policy": {"auditSeconds": 86400, "defaultExpirySeconds": None, "consolidationSchedule": "0 3 * * *"},
    },
)
ERASE = operation(
    "erase",
    "Erase everything of a scope, or the episodes with some metadata, as a job",
    request=EraseRequest,
    reply=Job,
    permission=Permission.TOMBSTONE,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE, "reason": "asked for by the person", "metadata": {"person": "p-17"}},
)
DISPUTE = operation(
    "dispute",
    "Say that two memories contradict each other",
    request=DisputeRequest,
    reply=CorrectionReply,
    permission=Permission.INGEST,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE, "refs": [EPISODE_REF, {**EPISODE_REF, "id": "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3f"}]},
)
RESOLVE = operation(
    "resolve",
    "Settle contradictions, and say which memory holds",
    request=ResolveRequest,
    reply=CorrectionReply,
    permission=Permission.INGEST,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE, "refs": [EPISODE_REF], "holds": EPISODE_REF},
)
