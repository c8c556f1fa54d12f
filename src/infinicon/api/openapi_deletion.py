"""The operations by which memory goes."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.api.openapi_parts import EPISODE_REF, SCOPE, WITH_BODY, operation
from infinicon.api.wire.tombstone import TombstoneReply, TombstoneRequest
from infinicon.api.wire.validate import Body

MODELS: Sequence[type[Body]] = (TombstoneRequest, TombstoneReply)

TOMBSTONE = operation(
    "tombstone",
    "Delete memory, at once and for good (permission tombstone)",
    request=TombstoneRequest,
    reply=TombstoneReply,
    statuses=WITH_BODY,
    example={
        "scope": SCOPE,
        "refs": [EPISODE_REF],
        "reason": "asked for by its author",
        "cascadePolicy": "tombstone_derived",
    },
)
