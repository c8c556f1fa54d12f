"""Bindings: a memoryRef stands for the scope that it is bound to, and without a binding for the namespace of that very name."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.domain import Binding, Caller, Permission, Scope, ScopeKey
from infinicon.errors import InvalidRequest, Unauthorized
from infinicon.keyring import Keyring
from infinicon.operations import redaction, scopes
from infinicon.store import bindings, tenancy
from infinicon.store.bindings import Bound
from infinicon.store.database import Database, Transaction, retry_conflicts


def find(tx: Transaction, caller: Caller, memory_ref: str | None) -> ScopeKey | None:
    """The scope for which the memoryRef stands; None where there is nothing that the caller could see: no such namespace, or one outside
    the key's."""
    if memory_ref is None:
        return None
    bound = bindings.find(caller.tenant, tx, memory_ref)
    if bound is not None:
        return _key(caller, bound) if _may(caller, bound.namespace) else None
    namespace = tenancy.find_namespace(caller.tenant, tx, memory_ref)
    if namespace is None or not _may(caller, namespace):
        return None
    return ScopeKey(caller.tenant, namespace, Scope(caller.tenant_name, memory_ref))


def make(tx: Transaction, caller: Caller, memory_ref: str) -> ScopeKey:
    """The same for a writer, who makes the namespace where there is none.

    Raises:
        Unauthorized: the key is limited to other namespaces.
    """
    bound = bindings.find(caller.tenant, tx, memory_ref)
    if bound is not None and _may(caller, bound.namespace):
        return _key(caller, bound)
    if bound is not None:
        raise _limited()
    return scopes.resolve(tx, caller, Scope(caller.tenant_name, memory_ref), Permission.INGEST, create=True)


def list_bindings(database: Database, caller: Caller, after: str, limit: int) -> tuple[Sequence[Binding], bool]:
    """Bindings behind `after` by memoryRef that the key may see, and whether there are more.

    Raises:
        Unauthorized: the key may not administer.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.ADMIN)
    with database.transaction(caller.tenant) as tx:
        found = bindings.page(caller.tenant, tx, caller.namespaces, after, limit + 1)
    return [_binding(caller, bound) for bound in found[:limit]], len(found) > limit


@retry_conflicts
def bind(database: Database, keyring: Keyring, caller: Caller, memory_ref: str, scope: Scope) -> Binding:
    """Let the memoryRef stand for the scope, in the place of what it stood for. Makes the namespace if it is new.

    Raises:
        Unauthorized: the key may not administer this namespace, or the one for which the memoryRef stands now; or it is limited to
            namespaces, and the memoryRef is the name of none of them.
        InvalidRequest: the scope has filters, or a name holds a known secret.
    """
    if scope.filters is not None:
        raise InvalidRequest("scope.filters cannot be bound", details={"field": "scope.filters"})
    scopes.allow(caller, scope, Permission.ADMIN)
    with database.transaction(caller.tenant) as tx:
        _check_own(tx, caller, memory_ref)
        key = scopes.resolve(tx, caller, scope, Permission.ADMIN, create=True)
        redactor = redaction.current(tx, caller.tenant, keyring)
        redactor.scope(key)
        if redactor.changes(memory_ref):
            raise InvalidRequest("memoryRef must not hold a known secret", details={"field": "memoryRef"})
        before = bindings.find(caller.tenant, tx, memory_ref)
        if before is not None and not _may(caller, before.namespace):
            raise _limited()
        return Binding(memory_ref, scope, bindings.bind(key, tx, memory_ref))


def unbind(database: Database, caller: Caller, memory_ref: str | None) -> bool:
    """Whether the memoryRef was bound, and now is not.

    Raises:
        Unauthorized: the key may not administer; or it is limited to namespaces, and the memoryRef is the name of none of them.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.ADMIN)
    with database.transaction(caller.tenant) as tx:
        _check_own(tx, caller, memory_ref)
        if memory_ref is None:
            return False
        return bindings.unbind(caller.tenant, tx, caller.namespaces, memory_ref)


def _check_own(tx: Transaction, caller: Caller, memory_ref: str | None) -> None:
    """A memoryRef is the whole tenant's: a key limited to namespaces says only what their names stand for, or it would lead others,
    who mean a namespace that it cannot see, into its own. Raises Unauthorized, and the same whether or not there is such a namespace."""
    if caller.namespaces is None:
        return
    named = None if memory_ref is None else tenancy.find_namespace(caller.tenant, tx, memory_ref)
    if named is None or not _may(caller, named):
        raise _limited()


def _limited() -> Unauthorized:
    return Unauthorized("this key is limited to other namespaces", authenticated=True)


def _may(caller: Caller, namespace: int) -> bool:
    return caller.namespaces is None or namespace in caller.namespaces


def _key(caller: Caller, bound: Bound) -> ScopeKey:
    return ScopeKey(caller.tenant, bound.namespace, _scope(caller, bound))


def _scope(caller: Caller, bound: Bound) -> Scope:
    return Scope(caller.tenant_name, bound.namespace_name, bound.agent_id, bound.session_id)


def _binding(caller: Caller, bound: Bound) -> Binding:
    return Binding(bound.ref, _scope(caller, bound), bound.created_at)
