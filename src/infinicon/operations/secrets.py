"""Secrets that a tenant makes known so that they are taken out of what is written. They go in, and nothing gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from infinicon.domain import Caller, Permission, Secret
from infinicon.errors import InvalidRequest, NotFound, Unauthorized
from infinicon.ids import new_id, parse_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction, scopes
from infinicon.store import secrets
from infinicon.store.database import Database, Transaction, retry_conflicts

MOST = 10_000
"""Secrets of a tenant."""


def list_secrets(database: Database, caller: Caller, tenant_id: str) -> Sequence[Secret]:
    """Ids and times of the tenant's secrets, oldest first. Raises Unauthorized."""
    allow(caller, tenant_id)
    with database.transaction(caller.tenant) as tx:
        return [Secret(one.id, one.created_at) for one in secrets.sealed(caller.tenant, tx)]


@retry_conflicts
def add_secret(database: Database, keyring: Keyring, caller: Caller, tenant_id: str, value: str) -> Secret:
    """Make a secret known: from now on it is redacted in all that is written. A value that is known already keeps its id.

    What was written before is found by `redact`: this waits for everybody who writes without knowing it.

    Raises:
        InvalidRequest: the tenant has too many.
        MissingDependency: the others are kept under another master key.
        Unauthorized: the caller is no admin of the whole tenant.
    """
    allow(caller, tenant_id)
    with database.transaction(caller.tenant) as tx:
        secrets.take_turn(caller.tenant, tx)
        kept = secrets.sealed(caller.tenant, tx)
        for one in kept:
            if redaction.opened(keyring, caller.tenant, one) == value:
                return Secret(one.id, one.created_at)
        if len(kept) >= MOST:
            raise InvalidRequest("the tenant has too many secrets: remove some", details={"limit": MOST})
        made = new_id()
        sealed = keyring.seal(redaction.PURPOSE, value.encode(), redaction.context(caller.tenant, made))
        created_at = secrets.insert(caller.tenant, tx, made, sealed, keyring.id)
    return Secret(made, created_at)


@retry_conflicts
def remove_secret(database: Database, caller: Caller, tenant_id: str, secret_id: str) -> Secret:
    """Forget a secret. It is redacted no longer; markers that stand for it stay.

    Raises:
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the caller is no admin of the whole tenant.
    """
    allow(caller, tenant_id)
    with database.transaction(caller.tenant) as tx:
        secrets.take_turn(caller.tenant, tx)
        found = known(caller.tenant, tx, secret_id)
        secrets.delete(caller.tenant, tx, found.id)
    return Secret(found.id, found.created_at)


def known(tenant: int, tx: Transaction, secret_id: str) -> secrets.Sealed:
    """The secret of that id. Raises NotFound."""
    wanted: UUID | None = parse_id(secret_id)
    found = next((one for one in secrets.sealed(tenant, tx) if one.id == wanted), None)
    if found is None:
        raise NotFound("there is no such secret")
    return found


def allow(caller: Caller, tenant_id: str) -> None:
    """A secret counts in the whole tenant, and so whoever may see some namespaces only has no say. Raises Unauthorized."""
    scopes.allow_tenant(caller, tenant_id, Permission.ADMIN)
    if caller.namespaces is not None:
        raise Unauthorized("this key is limited to namespaces, and secrets are the tenant's", authenticated=True)
