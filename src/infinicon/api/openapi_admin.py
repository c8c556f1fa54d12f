"""The operations for people who look after Infinicon: keys, namespaces, counts, export."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.api import limits
from infinicon.api.openapi_parts import WITH_BODY, operation, page_parameters, parameter, scope_parameters
from infinicon.api.wire.administration import (
    EXPORT_MOST,
    EXPORT_USUAL,
    NAMESPACES_MOST,
    NAMESPACES_USUAL,
    ExportReply,
    NamespacesReply,
    StatsReply,
)
from infinicon.api.wire.keys import (
    CreateKeyRequest,
    KeyReply,
    KeysReply,
    NewKeyReply,
    OwnKey,
    RevokeKeyRequest,
    RotateKeyRequest,
)
from infinicon.api.wire.status import StatusReply
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (
    CreateKeyRequest,
    RevokeKeyRequest,
    RotateKeyRequest,
    OwnKey,
    KeyReply,
    KeysReply,
    NewKeyReply,
    NamespacesReply,
    StatsReply,
    ExportReply,
    StatusReply,
)

WITHOUT_BODY = (400, 401, 403, 429, 500, 503)
TENANT = parameter("tenantId", "query", "The key's own.", required=True, longest=limits.IDENTIFIER_CHARACTERS)
KEY_ID = parameter("keyId", "path", "From the list of keys.", required=True, longest=limits.IDENTIFIER_CHARACTERS)

OWN_KEY = operation(
    "ownKey", "Which tenant the key belongs to, and what it may do", reply=OwnKey, statuses=WITHOUT_BODY
)
LIST_KEYS = operation(
    "listKeys",
    "The tenant's keys",
    reply=KeysReply,
    permission=Permission.ADMIN,
    statuses=WITHOUT_BODY,
    parameters=[TENANT],
)
CREATE_KEY = operation(
    "createKey",
    "Make a key; it is shown once",
    request=CreateKeyRequest,
    reply=NewKeyReply,
    permission=Permission.ADMIN,
    statuses=WITH_BODY,
    example={"tenantId": "acme", "label": "support bot", "permissions": ["ingest", "query"], "namespaces": ["support"]},
)
REVOKE_KEY = operation(
    "revokeKey",
    "Shut a key out, at once and for good",
    request=RevokeKeyRequest,
    reply=KeyReply,
    permission=Permission.ADMIN,
    statuses=(*WITH_BODY, 404),
    example={"tenantId": "acme"},
    parameters=[KEY_ID],
)
ROTATE_KEY = operation(
    "rotateKey",
    "Make a key's successor; both work until the old one runs out",
    request=RotateKeyRequest,
    reply=NewKeyReply,
    permission=Permission.ADMIN,
    statuses=(*WITH_BODY, 404),
    example={"tenantId": "acme", "overlapSeconds": 3600},
    parameters=[KEY_ID],
)
LIST_NAMESPACES = operation(
    "listNamespaces",
    "The namespaces that the key may use, by name",
    reply=NamespacesReply,
    statuses=WITHOUT_BODY,
    parameters=[TENANT, *page_parameters(NAMESPACES_USUAL, NAMESPACES_MOST)],
)
STATS = operation(
    "stats",
    "What a namespace holds, in numbers",
    reply=StatsReply,
    permission=Permission.JOBS,
    statuses=WITHOUT_BODY,
    parameters=scope_parameters(agents=False),
)
EXPORT = operation(
    "exportEpisodes",
    "The episodes of a scope, page by page, as ingest takes them back",
    reply=ExportReply,
    permission=Permission.HYDRATE,
    statuses=WITHOUT_BODY,
    parameters=[*scope_parameters(), *page_parameters(EXPORT_USUAL, EXPORT_MOST)],
)
STATUS = operation(
    "status",
    "How the parts are, and whether the tenant's work moves",
    reply=StatusReply,
    permission=Permission.JOBS,
    statuses=WITHOUT_BODY,
    parameters=[TENANT],
)
