"""API keys: who a bearer is, and the first key of a new installation."""

from __future__ import annotations

from infinicon.domain import Caller, Permission
from infinicon.errors import Unauthorized
from infinicon.ids import new_id
from infinicon.keyring import api_key_digest
from infinicon.store import tenancy
from infinicon.store.database import Database

EVERYTHING = frozenset(Permission)


def authenticate(database: Database, token: str) -> Caller:
    """Who holds this key.

    The key itself is never compared: its SHA-256 is looked up, so timing tells nothing about a key of 256 random bits.

    Raises:
        Unauthorized: unknown, expired and revoked keys are all the same answer.
    """
    with database.transaction(None) as tx:
        caller = tenancy.authenticate(tx, api_key_digest(token))
    if caller is None:
        raise Unauthorized("the API key is not valid")
    return caller


def provision(owner_url: str, tenant_name: str, api_key: str, permissions: frozenset[Permission] = EVERYTHING) -> None:
    """Make a tenant and a key for it, as the owner of the schema; what is there already stays."""
    owner = Database(owner_url, pool_size=1, vectors=False)
    try:
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, tenant_name)
            tenancy.add_key(tenant, tx, new_id(), api_key_digest(api_key), permissions, label="first key")
    finally:
        owner.close()
