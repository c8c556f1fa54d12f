"""Runs of the conformance seam: a suite starts a workflow, which is played over the real memory, and reads what became of it.

The seam is mounted by INFINICON_CONFORMANCE alone (docs/openwop.md). It has no store, no ranking and no redaction of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from infinicon.domain import Caller, ConformanceRun, Entry, Fault, Permission, RunStatus, Seen, Shown, Variable
from infinicon.errors import InfiniconError, Internal, InvalidRequest, NotFound, Unauthorized, Unavailable
from infinicon.ids import new_id, parse_id
from infinicon.keyring import Keyring
from infinicon.operations import bindings, scopes
from infinicon.operations.keys import authenticate, provision
from infinicon.operations.run_memory import Parts, RunMemory
from infinicon.operations.workflows import WORKFLOWS
from infinicon.store import conformance, entries
from infinicon.store.database import Database

log = logging.getLogger(__name__)

KEPT_SECONDS = 86_400.0

OTHER_TENANT = "openwop conformance, another tenant"
OTHER_PERMISSIONS = frozenset({Permission.INGEST, Permission.HYDRATE})


def other_key(keyring: Keyring) -> str:
    """The key of the tenant whose memory nobody else may see: derived, and so nowhere to be read."""
    return keyring.token("openwop another tenant")


def make_other_tenant(owner_url: str, keyring: Keyring) -> None:
    """Make that tenant and its key, as the owner of the schema: the API cannot make tenants. What is there already stays."""
    provision(owner_url, OTHER_TENANT, other_key(keyring), OTHER_PERMISSIONS, label="conformance")


def find_other(database: Database, keyring: Keyring) -> Caller | None:
    """Who holds that key; None where the tenant was never made."""
    try:
        return authenticate(database, other_key(keyring))
    except Unauthorized:
        return None


def allow(caller: Caller) -> None:
    """A run makes a secret known, and writes to namespaces of its own. Raises Unauthorized."""
    scopes.allow_tenant(caller, caller.tenant_name, Permission.ADMIN)
    if caller.namespaces is not None:
        raise Unauthorized("this key is limited to namespaces, and a run is the tenant's", authenticated=True)


def start_run(
    database: Database, caller: Caller, workflow: str, playable: Collection[str] | None = None
) -> ConformanceRun:
    """A run that waits to be played. Runs of a day ago go. `playable`: the workflows that are advertised now; None: all.

    Raises:
        NotFound: there is no such workflow.
        Unauthorized: the caller is no admin of the whole tenant.
        Unavailable: what the workflow needs is not there.
    """
    allow(caller)
    if workflow not in WORKFLOWS:
        raise NotFound("there is no such workflow")
    if playable is not None and workflow not in playable:
        raise Unavailable("the workflow cannot be played now: its other tenant or the token counter is missing")
    run = new_id()
    with database.transaction(caller.tenant) as tx:
        conformance.forget(caller.tenant, tx, KEPT_SECONDS)
        created_at = conformance.insert(caller.tenant, tx, run, workflow)
    return ConformanceRun(run, workflow, RunStatus.QUEUED, created_at)


def play(parts: Parts, caller: Caller, run: UUID) -> None:
    """Play a run that waits, and record how it ended. One that is played already is left alone."""
    with parts.database.transaction(caller.tenant) as tx:
        begun = conformance.start(caller.tenant, tx, run)
    if begun is None:
        return
    workflow, began_at = begun
    variables: Mapping[str, Variable] = {}
    fault: Fault | None = Fault.of(Internal("a fault of ours ended the run"))
    try:
        variables = WORKFLOWS[workflow](RunMemory(parts, caller, run, began_at))
        fault = None
    except InfiniconError as error:
        log.warning("a run of %s failed: %s", workflow, error.message)
        fault = Fault.of(error)
    finally:
        with parts.database.transaction(caller.tenant) as tx:
            conformance.finish(caller.tenant, tx, run, variables, fault)


def get_run(database: Database, caller: Caller, run_id: str) -> ConformanceRun:
    """A run as it stands.

    Raises:
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the caller is no admin of the whole tenant.
    """
    allow(caller)
    wanted = parse_id(run_id)
    if wanted is not None:
        with database.transaction(caller.tenant) as tx:
            found = conformance.find(caller.tenant, tx, wanted)
        if found is not None:
            return found
    raise NotFound("there is no such run")


def fork_run(database: Database, caller: Caller, run_id: str) -> ConformanceRun:
    """A replay of a run: the same record under another id. Nothing is written anew.

    Raises:
        InvalidRequest: the run has not completed.
        NotFound, Unauthorized: as get_run.
    """
    source = get_run(database, caller, run_id)
    made = new_id()
    with database.transaction(caller.tenant) as tx:
        if not conformance.repeat(caller.tenant, tx, made, source.id):
            raise InvalidRequest("only a run that has completed can be replayed")
    return get_run(database, caller, str(made))


def shown(database: Database, caller: Caller, run: ConformanceRun) -> dict[str, Shown]:
    """What a run says, with the entries that it saw as they are now. Those that are gone are missing."""
    variables = run.variables or {}
    wanted: dict[str, list[UUID]] = {}
    for value in variables.values():
        for seen in value if isinstance(value, list) else [value]:
            if isinstance(seen, Seen):
                wanted.setdefault(seen.memory_ref, []).append(seen.entry)
    found: dict[UUID, Entry] = {}
    with database.transaction(caller.tenant) as tx:
        for memory_ref, ids in wanted.items():
            scope = bindings.find(tx, caller, memory_ref)
            found |= {} if scope is None else entries.load(scope, tx, ids)
    return {name: _show(value, found) for name, value in variables.items()}


def _show(value: Any, found: Mapping[UUID, Entry]) -> Any:
    if isinstance(value, Seen):
        entry = found.get(value.entry)
        return entry if entry is None or value.whole else entry.content
    if isinstance(value, list):
        return [one for one in (_show(one, found) for one in value) if one is not None]
    return value
