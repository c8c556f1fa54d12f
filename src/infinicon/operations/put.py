"""put: one entry under a memoryRef, there at once. It is an episode with one atom that says all of it: nothing is extracted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from infinicon import rendering
from infinicon.domain import (
    ActorRef,
    Caller,
    ContextWarning,
    Entry,
    EventType,
    Lane,
    MemoryType,
    Permission,
    PutReply,
    PutRequest,
    ScopeKey,
)
from infinicon.errors import IdempotencyConflict, NotFound
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import bindings, redaction, scopes
from infinicon.operations.counting import Counters
from infinicon.store import entries, episodes, events, jobs, policies, puts, replies, waiting
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.episodes import NewEpisode
from infinicon.store.puts import Verbatim

CONTENT_TYPE = "text/plain"

ALREADY_EXPIRED = ContextWarning("already_expired", "its expiresAt is past: it is found by nobody")


@retry_conflicts
def put(database: Database, keyring: Keyring, counters: Counters, caller: Caller, request: PutRequest) -> PutReply:
    """Store an entry. From the commit on list shows it; query finds it once its episode has gone the way of all episodes. One whose time
    is over is stored as well, with a warning, as ingest does it.

    Raises:
        Unauthorized: the key may not write, or not to this memory.
        InvalidRequest: the memoryRef would name a namespace by a known secret.
        IdempotencyConflict: the Idempotency-Key stands for another body.
        NotFound: it stands for an entry that is gone.
    """
    scopes.allow_tenant(caller, caller.tenant_name, Permission.INGEST)
    with database.transaction(caller.tenant) as tx:
        scope = bindings.make(tx, caller, request.memory_ref)
        key = None
        if request.idempotency_key is not None:
            key = keyring.mac("idempotency", str(scope.namespace).encode(), request.idempotency_key.encode())
            body = keyring.mac(replies.BODY, request.body_digest)
            earlier = replies.reserve(caller.tenant, tx, key, body)
            if earlier is not None:
                return PutReply(_replay(scope, tx, body, *earlier))
        entry = _store(keyring, counters, caller, scope, tx, request)
        if key is not None:
            replies.keep(caller.tenant, tx, key, {"entry": str(entry.id)})
        if entry.expires_at is not None and entry.expires_at <= waiting.now(tx):
            return PutReply(entry, [ALREADY_EXPIRED])
    return PutReply(entry)


def _replay(scope: ScopeKey, tx: Transaction, body: bytes, digest: bytes, kept: dict[str, str]) -> Entry:
    """The entry that an earlier request with this key made, as it is now."""
    if digest != body or "entry" not in kept:
        raise IdempotencyConflict("the Idempotency-Key stands for another request")
    made = UUID(kept["entry"])
    entry = entries.load(scope, tx, [made]).get(made)
    if entry is None:
        raise NotFound("the entry that was made under this Idempotency-Key is gone")
    return entry


def _store(
    keyring: Keyring, counters: Counters, caller: Caller, scope: ScopeKey, tx: Transaction, request: PutRequest
) -> Entry:
    redactor = redaction.in_scope(scope, tx, keyring)
    scope = redactor.scope(scope)
    seconds = policies.read(scope, tx).default_expiry_seconds
    expires_at = request.expires_at
    if expires_at is None and seconds is not None:
        expires_at = datetime.now(UTC) + timedelta(seconds=seconds)
    content = redactor.text(request.content)
    episode = NewEpisode(
        id=new_id(),
        content_type=CONTENT_TYPE,
        content=content,
        created_by=ActorRef(f"key:{caller.key}", "system"),
        metadata={},
        tags=redactor.tags(request.tags),
        dedupe_key=None,
        dedupe_hmac=None,
        content_hmac=keyring.mac("content", CONTENT_TYPE.encode(), request.content.encode()),
        occurred_at=None,
        expires_at=expires_at,
        tokens=len(content.encode()) // 4 + 1,
    )
    entries.use_counter(tx, counters.budget)
    job = new_id()
    episodes.insert(scope, tx, [episode])
    episodes.queue(scope, tx, job, Lane.INTERACTIVE, [episode])
    unit = counters.unit(None, None, waiting.now(tx), content)
    atom = Verbatim(new_id(), episode.id, content, unit, counters.stored(content))
    created_at = puts.state(scope, tx, rendering.VERSION, atom)
    jobs.insert(scope, tx, job, "ingest", Lane.INTERACTIVE, None, 1)
    made = [
        _event(scope, EventType.EPISODE_INGESTED, episode.id, MemoryType.EPISODE, job),
        _event(scope, EventType.ATOM_EXTRACTED, atom.id, MemoryType.ATOM, job),
    ]
    events.append(caller.tenant, tx, made)
    return Entry(atom.id, content, list(episode.tags), created_at, expires_at)


def _event(scope: ScopeKey, type_: EventType, memory: UUID, kind: MemoryType, job: UUID) -> events.NewEvent:
    return events.NewEvent(scope.namespace, type_, memory, kind, job, scope.agent_id, scope.session_id)
