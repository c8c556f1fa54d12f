"""The operations on secrets that are redacted."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.api import limits
from infinicon.api.openapi_admin import TENANT, WITHOUT_BODY
from infinicon.api.openapi_parts import WITH_BODY, operation, parameter
from infinicon.api.wire.jobs import Job
from infinicon.api.wire.secrets import AddSecretRequest, RedactRequest, SecretReply, SecretsReply
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (AddSecretRequest, RedactRequest, SecretReply, SecretsReply)

SECRET_ID = parameter(
    "secretId", "path", "From the list of secrets.", required=True, longest=limits.IDENTIFIER_CHARACTERS
)
EXAMPLE_ID = "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e"

LIST_SECRETS = operation(
    "listSecrets",
    "The secrets that are redacted, by id",
    reply=SecretsReply,
    permission=Permission.ADMIN,
    statuses=WITHOUT_BODY,
    parameters=[TENANT],
)
ADD_SECRET = operation(
    "addSecret",
    "Make a secret known, so that it is redacted in all that is written from now on",
    request=AddSecretRequest,
    reply=SecretReply,
    permission=Permission.ADMIN,
    statuses=WITH_BODY,
    example={"tenantId": "acme", "value": "correct horse battery staple"},
)
REMOVE_SECRET = operation(
    "removeSecret",
    "Forget a secret: it is redacted no longer",
    reply=SecretReply,
    permission=Permission.ADMIN,
    statuses=(*WITHOUT_BODY, 404),
    parameters=[SECRET_ID, TENANT],
)
REDACT = operation(
    "redact",
    "Take a secret that became known later out of what is stored, as a job",
    request=RedactRequest,
    reply=Job,
    permission=Permission.ADMIN,
    statuses=(*WITH_BODY, 404),
    example={"tenantId": "acme", "secretId": EXAMPLE_ID},
)
