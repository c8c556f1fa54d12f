"""From a caller and the scope that it names to the scope that the store knows."""

from __future__ import annotations

from typing import LiteralString

from infinicon.domain import Caller, Permission, Scope, ScopeKey
from infinicon.errors import InvalidRequest, Unauthorized
from infinicon.store import tenancy
from infinicon.store.database import Transaction


def allow(caller: Caller, scope: Scope, permission: Permission) -> None:
    """Check what needs no database: the permission, and that the key's tenant is the one that is named.

    Raises:
        Unauthorized: with no hint whether the other tenant exists.
    """
    allow_tenant(caller, scope.tenant_id, permission)


def allow_tenant(caller: Caller, tenant_id: str, permission: Permission | None) -> None:
    """The same where a whole tenant is asked for; with None any key of the tenant will do. Raises Unauthorized."""
    if permission and permission not in caller.permissions and Permission.ADMIN not in caller.permissions:
        raise Unauthorized(f"this key lacks the permission {permission.value}", authenticated=True)
    if tenant_id != caller.tenant_name:
        raise Unauthorized("this key does not belong to the tenant of the scope", authenticated=True)


def resolve(tx: Transaction, caller: Caller, scope: Scope, permission: Permission, *, create: bool = False) -> ScopeKey:
    """The scope in integers. A namespace that does not exist is made for writers, and is 0 for readers.

    Raises:
        Unauthorized: wrong tenant, missing permission, or a namespace outside the key's.
    """
    allow(caller, scope, permission)
    if create and caller.namespaces is None:
        namespace = tenancy.ensure_namespace(caller.tenant, tx, scope.namespace_id)
    else:
        namespace = tenancy.find_namespace(caller.tenant, tx, scope.namespace_id) or 0
    if caller.namespaces is not None and namespace not in caller.namespaces:
        raise Unauthorized("this key is limited to other namespaces", authenticated=True)
    return ScopeKey(caller.tenant, namespace, scope)


def check_whole(scope: Scope, why: LiteralString) -> None:
    """A namespace is meant, and no part of it. Raises InvalidRequest; `why` goes on from "must be absent: "."""
    for field, part in (("agentId", scope.agent_id), ("sessionId", scope.session_id), ("filters", scope.filters)):
        if part is not None:
            rule = f"must be absent: {why}"
            raise InvalidRequest(f"scope.{field} {rule}", details={"field": f"scope.{field}", "rule": rule})


def agrees(named: Scope, own: Scope) -> bool:
    """Whether what a ref says of its scope is true; it may say less than there is."""
    return (
        named.tenant_id == own.tenant_id
        and named.namespace_id == own.namespace_id
        and named.agent_id in {None, own.agent_id}
        and named.session_id in {None, own.session_id}
    )


def names(scope: ScopeKey, named: Scope) -> bool:
    """Whether a ref's scope is the tenant and namespace that the request is about; what it says beyond them, the memory decides."""
    return (named.tenant_id, named.namespace_id) == (scope.named.tenant_id, scope.named.namespace_id)
