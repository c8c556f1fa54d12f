"""API keys: who a bearer is, the first key of a new installation, and what a tenant's admin does with the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from infinicon.domain import Caller, Key, NewKey, Permission
from infinicon.errors import InvalidRequest, NotFound, Unauthorized
from infinicon.ids import new_id, parse_id
from infinicon.keyring import Keyring, api_key_digest, new_api_key
from infinicon.operations import redaction, scopes
from infinicon.store import keys, tenancy
from infinicon.store.database import Database, Transaction, retry_conflicts

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


def provision(
    owner_url: str,
    tenant_name: str,
    api_key: str,
    permissions: frozenset[Permission] = EVERYTHING,
    label: str = "first key",
) -> None:
    """Make a tenant and a key for it, as the owner of the schema; what is there already stays."""
    owner = Database(owner_url, pool_size=1, vectors=False)
    try:
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, tenant_name)
            tenancy.add_key(tenant, tx, new_id(), api_key_digest(api_key), permissions, label=label)
    finally:
        owner.close()


def first_key(owner_url: str, tenant_name: str) -> str | None:
    """Make a tenant, if it is new, and its first key, as the owner of the schema. None where a key of the tenant works already."""
    owner = Database(owner_url, pool_size=1, vectors=False)
    try:
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, tenant_name)
            tenancy.hold_tenant(tenant, tx)
            if any(keys.living(tenant, tx, key.id) for key in keys.listed(tenant, tx)):
                return None
            made = new_api_key()
            tenancy.add_key(tenant, tx, new_id(), api_key_digest(made), EVERYTHING, label="first key")
    finally:
        owner.close()
    return made


def own_key(database: Database, caller: Caller) -> Key:
    """The caller's own key: what it may do, where, and until when."""
    with database.transaction(caller.tenant) as tx:
        found = keys.find(caller.tenant, tx, caller.key)
    if found is None:
        raise Unauthorized("the API key is not valid")
    return found


def list_keys(database: Database, caller: Caller, tenant_id: str) -> Sequence[Key]:
    """All keys of the tenant, oldest first. Raises Unauthorized."""
    scopes.allow_tenant(caller, tenant_id, Permission.ADMIN)
    with database.transaction(caller.tenant) as tx:
        return keys.listed(caller.tenant, tx)


@retry_conflicts
def create_key(database: Database, keyring: Keyring, caller: Caller, tenant_id: str, wanted: NewKey) -> tuple[Key, str]:
    """Make a key. The second value is what its holder sends: it is not kept, so it can be read here only. Its label is redacted.

    Raises:
        InvalidRequest: it would have run out already.
        Unauthorized: the caller is no admin, or limited to other namespaces than the new key would be, or gives `audit` away without
            having it.
    """
    scopes.allow_tenant(caller, tenant_id, Permission.ADMIN)
    if wanted.expires_at is not None and wanted.expires_at <= datetime.now(UTC):
        raise InvalidRequest(
            "expiresAt must be in the future", details={"field": "expiresAt", "rule": "must be in the future"}
        )
    with database.transaction(caller.tenant) as tx:
        return _make(tx, keyring, caller, wanted)


def revoke_key(database: Database, caller: Caller, tenant_id: str, key_id: str) -> Key:
    """Shut a key out, at once and for good; one that is revoked already stays as it is.

    Raises:
        InvalidRequest: the caller's own key, which would lock the caller out in mid-sentence.
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the caller is no admin, or may not see all that the key may.
    """
    scopes.allow_tenant(caller, tenant_id, Permission.ADMIN)
    if parse_id(key_id) == caller.key:
        raise InvalidRequest("a key does not revoke itself: use another one, or rotate it")
    with database.transaction(caller.tenant) as tx:
        found = _within(tx, caller, _held(tx, caller, key_id))
        keys.revoke(caller.tenant, tx, found.id)
        return _held(tx, caller, key_id)


@retry_conflicts
def rotate_key(
    database: Database, keyring: Keyring, caller: Caller, tenant_id: str, key_id: str, overlap_seconds: float
) -> tuple[Key, str]:
    """Make a key that may do what this one may, and let this one run out after `overlap_seconds`: both work in between.

    Raises:
        InvalidRequest: the key is revoked or has run out.
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the caller is no admin, or may not see all that the key may, or lacks `audit`, which the key has.
    """
    scopes.allow_tenant(caller, tenant_id, Permission.ADMIN)
    with database.transaction(caller.tenant) as tx:
        old = _within(tx, caller, _held(tx, caller, key_id))
        if not keys.living(caller.tenant, tx, old.id):
            raise InvalidRequest("the key is revoked or has run out; make a new one")
        made = _make(tx, keyring, caller, NewKey(old.permissions, old.namespaces, old.label, old.expires_at))
        keys.expire(caller.tenant, tx, old.id, overlap_seconds)
    return made


def _make(tx: Transaction, keyring: Keyring, caller: Caller, wanted: NewKey) -> tuple[Key, str]:
    # An admin does not see what is kept for audits, and would by a key of the admin's own making.
    if Permission.AUDIT in wanted.permissions and Permission.AUDIT not in caller.permissions:
        raise Unauthorized("only a key with the permission audit gives it to another", authenticated=True)
    namespaces = None
    if wanted.namespaces is not None:
        namespaces = {_namespace(tx, caller, name) for name in sorted(set(wanted.namespaces))}
    elif caller.namespaces is not None:
        raise Unauthorized("this key is limited to namespaces, and so are the keys that it makes", authenticated=True)
    secret = new_api_key()
    made = new_id()
    keys.insert(
        caller.tenant,
        tx,
        made,
        api_key_digest(secret),
        wanted.permissions,
        namespaces,
        redaction.current(tx, caller.tenant, keyring).optional(wanted.label),
        wanted.expires_at,
    )
    found = keys.find(caller.tenant, tx, made)
    assert found is not None
    return found, secret


def _namespace(tx: Transaction, caller: Caller, name: str) -> int:
    """A key may be made before its namespace holds anything."""
    if caller.namespaces is None:
        return tenancy.ensure_namespace(caller.tenant, tx, name)
    found = tenancy.find_namespace(caller.tenant, tx, name)
    if found is None or found not in caller.namespaces:
        raise Unauthorized("this key is limited to other namespaces", authenticated=True)
    return found


def _held(tx: Transaction, caller: Caller, key_id: str) -> Key:
    wanted = parse_id(key_id)
    found = None if wanted is None else keys.lock(caller.tenant, tx, wanted)
    if found is None:
        raise NotFound("there is no such key")
    return found


def _within(tx: Transaction, caller: Caller, key: Key) -> Key:
    """An admin of some namespaces does not touch the keys of others."""
    if caller.namespaces is not None:
        if key.namespaces is None:
            raise Unauthorized("this key is limited to namespaces, the other one is not", authenticated=True)
        for name in key.namespaces:
            _namespace(tx, caller, name)
    return key
