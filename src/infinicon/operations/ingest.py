"""ingest: one transaction from the request to durable episodes, their job and their events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from infinicon.domain import (
    NIL_ID,
    ActorRef,
    Caller,
    ContextWarning,
    EventType,
    Fault,
    IngestEpisode,
    IngestReply,
    IngestRequest,
    IngestResult,
    IngestStatus,
    Json,
    Lane,
    LinkType,
    MemoryRef,
    MemoryType,
    Permission,
    ScopeKey,
    Status,
)
from infinicon.errors import (
    DedupeConflict,
    Detail,
    IdempotencyConflict,
    InvalidContent,
    InvalidRequest,
    UnsupportedMediaType,
)
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import corrections, redaction, scopes
from infinicon.operations.corrections import Target
from infinicon.operations.redaction import Redactor
from infinicon.ports import Extractor
from infinicon.store import episodes, events, jobs, policies, provenance, replies
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.episodes import NewEpisode, StoredEpisode

INTERACTIVE_EPISODES = 16
INTERACTIVE_TOKENS = 8_000
"""A request without `lane` goes through the interactive lane when it holds no more than this: a book must not delay a conversation."""

MEDIA_TYPES = {
    "text/*": "text/plain",
    "application/json": "application/json",
    "application/*+json": "application/geo+json",
}
"""Families of media types that can be read, each with one member to ask the extractor about: it decides."""

MARKUP = ("text/html", "text/xml", "text/rtf", "text/richtext", "text/css", "text/javascript")
"""Members of text/* whose text lies between tags or commands: an extractor that reads the family may not read these."""

Prepared = NewEpisode | Fault


@dataclass(frozen=True, slots=True)
class Written:
    """What the inserts did: ids that are new, and what stands under the dedupeKeys that were taken."""

    new: set[UUID]
    taken: Mapping[bytes, StoredEpisode]
    firsts: Mapping[bytes, NewEpisode]


@retry_conflicts
def ingest(
    database: Database, keyring: Keyring, extractor: Extractor, caller: Caller, request: IngestRequest
) -> IngestReply:
    """Store episodes as pending; a fault of one is its own result and leaves its neighbours alone.

    Raises:
        Unauthorized: the key may not write to this scope.
        IdempotencyConflict: the Idempotency-Key stands for another body.
        Unavailable: nothing was stored; sending the same again is safe.
    """
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.INGEST, create=True)
        redactor = redaction.in_scope(scope, tx, keyring)
        scope = redactor.scope(scope)
        key = None
        if request.idempotency_key is not None:
            key = keyring.mac("idempotency", str(scope.namespace).encode(), request.idempotency_key.encode())
            body = keyring.mac(replies.BODY, request.body_digest)
            earlier = replies.reserve(caller.tenant, tx, key, body)
            if earlier is not None:
                return _replay(scope, body, earlier)
        expiry = policies.read(scope, tx).default_expiry_seconds
        prepared = [
            _prepare(keyring, extractor, redactor, scope, caller, _with_expiry(episode, expiry))
            for episode in request.episodes
        ]
        stated = corrections.read(scope, tx, request.episodes)
        prepared = _with_faults(scope, tx, prepared, stated)
        job, lane = new_id(), request.lane or _lane(prepared)
        written = _write(scope, tx, prepared)
        corrections.propose(scope, tx, _created(prepared, stated, written))
        revivable = _revivable(written, prepared)
        created = [e for e in prepared if isinstance(e, NewEpisode) and e.id in written.new]
        episodes.queue(scope, tx, job, lane, created)
        revived = episodes.requeue(scope, tx, job, lane, revivable)
        jobs.insert(scope, tx, job, "ingest", lane, redactor.optional(request.label), len(created) + len(revived))
        results = [_result(scope, written, e) for e in prepared]
        reply = IngestReply(_with_ignored(scope, tx, results, request.episodes), job)
        if key is not None:
            replies.keep(caller.tenant, tx, key, _kept(reply))
        events.append(caller.tenant, tx, [_event(scope, e.id, job) for e in created])
    return reply


def _with_expiry(episode: IngestEpisode | Fault, seconds: int | None) -> IngestEpisode | Fault:
    """An episode that says nothing of its own end has the one that the namespace's policy gives it."""
    if isinstance(episode, Fault) or seconds is None or episode.expires_at is not None:
        return episode
    return replace(episode, expires_at=datetime.now(UTC) + timedelta(seconds=seconds))


def _with_faults(
    scope: ScopeKey, tx: Transaction, prepared: Sequence[Prepared], stated: Sequence[Sequence[Target] | Fault]
) -> list[Prepared]:
    """A correction of what the scope does not have rejects its episode; but not a replay, for what it corrected may be gone since."""
    faulty = [
        episode.dedupe_hmac
        for episode, edges in zip(prepared, stated, strict=True)
        if isinstance(edges, Fault) and isinstance(episode, NewEpisode) and episode.dedupe_hmac is not None
    ]
    replayed = episodes.find_by_dedupe(scope, tx, faulty) if faulty else {}
    return [
        edges
        if isinstance(edges, Fault) and not (isinstance(episode, NewEpisode) and episode.dedupe_hmac in replayed)
        else episode
        for episode, edges in zip(prepared, stated, strict=True)
    ]


def _with_ignored(
    scope: ScopeKey, tx: Transaction, results: Sequence[IngestResult], sent: Sequence[IngestEpisode | Fault]
) -> list[IngestResult]:
    """Warn where an episode that was there before does not correct what the request says it does."""
    asked = {
        at: {
            (result.ref.id, link, None if ref is None else ref.id)
            for link, refs in ((LinkType.CORRECTS, episode.corrects), (LinkType.SUPERSEDES, episode.supersedes))
            for ref in refs
        }
        for at, (result, episode) in enumerate(zip(results, sent, strict=True))
        if result.status is IngestStatus.DEDUPLICATED and not isinstance(episode, Fault)
    }
    there = provenance.stated(scope, tx, {results[at].ref.id for at in asked if asked[at]})
    ignored = ContextWarning("corrections_ignored", "this episode was there before, and corrects what it did then")
    return [
        replace(result, warnings=[*result.warnings, replace(ignored, refs=[result.ref])])
        if asked.get(at, set()) - there
        else result
        for at, result in enumerate(results)
    ]


def _created(
    prepared: Sequence[Prepared], stated: Sequence[Sequence[Target] | Fault], written: Written
) -> list[tuple[UUID, Sequence[Target]]]:
    """What episodes that are new take the place of."""
    return [
        (episode.id, targets)
        for episode, targets in zip(prepared, stated, strict=True)
        if isinstance(episode, NewEpisode) and episode.id in written.new and not isinstance(targets, Fault)
    ]


def _lane(prepared: Sequence[Prepared]) -> Lane:
    tokens = sum(episode.tokens for episode in prepared if isinstance(episode, NewEpisode))
    small = len(prepared) <= INTERACTIVE_EPISODES and tokens <= INTERACTIVE_TOKENS
    return Lane.INTERACTIVE if small else Lane.BULK


def _prepare(
    keyring: Keyring,
    extractor: Extractor,
    redactor: Redactor,
    scope: ScopeKey,
    caller: Caller,
    episode: IngestEpisode | Fault,
) -> Prepared:
    """Check, digest and redact one episode. Digests are made of what came in, before anything is replaced in it."""
    if isinstance(episode, Fault):
        return episode
    media_type = episode.content_type.partition(";")[0].strip().lower()
    textual = media_type.startswith("text/")
    if not extractor.supports(media_type):
        known: list[Detail] = [family for family, member in MEDIA_TYPES.items() if extractor.supports(member)]
        details: dict[str, Detail] = {"field": "contentType", "supported": known}
        if "text/*" in known:
            details["except"] = [member for member in MARKUP if not extractor.supports(member)]
        return Fault.of(UnsupportedMediaType("nothing here reads this contentType", details=details))
    if redactor.names(episode.content_type):
        rule = "must not hold a known secret"
        return Fault.of(InvalidRequest(f"contentType {rule}", details={"field": "contentType", "rule": rule}))
    if textual and not isinstance(episode.content, str):
        return Fault.of(InvalidContent("content must be a string for text/*", details={"field": "content"}))
    redacted = redactor.json(episode.content)
    content = redacted if isinstance(redacted, str) and textual else dump(redacted)
    canonical = (
        episode.content if isinstance(episode.content, str) and textual else dump(episode.content, sort_keys=True)
    )
    return NewEpisode(
        id=new_id(),
        content_type=redactor.media_type(episode.content_type),
        content=content,
        created_by=redactor.actor(episode.created_by or ActorRef(f"key:{caller.key}", "system")),
        metadata=redactor.mapping(episode.metadata),
        tags=redactor.tags(episode.tags),
        dedupe_key=redactor.optional(episode.dedupe_key),
        dedupe_hmac=_dedupe_hmac(keyring, scope, episode.dedupe_key),
        content_hmac=keyring.mac("content", media_type.encode(), canonical.encode()),
        occurred_at=episode.occurred_at,
        expires_at=episode.expires_at,
        tokens=len(content.encode()) // 4 + 1,
    )


def _dedupe_hmac(keyring: Keyring, scope: ScopeKey, key: str | None) -> bytes | None:
    """Covers the parts of the scope that are no column of the unique index; a part that is absent equals only itself."""
    if key is None:
        return None
    parts = [b"" if part is None else b"=" + part.encode() for part in (scope.agent_id, scope.session_id)]
    return keyring.mac("dedupe", *parts, key.encode())


def _write(scope: ScopeKey, tx: Transaction, prepared: Sequence[Prepared]) -> Written:
    """Insert the first episode of each dedupeKey; the request's later ones meet it like strangers."""
    firsts: dict[bytes, NewEpisode] = {}
    unkeyed = []
    for episode in prepared:
        if isinstance(episode, Fault):
            continue
        if episode.dedupe_hmac is None:
            unkeyed.append(episode)
        else:
            firsts.setdefault(episode.dedupe_hmac, episode)
    new = episodes.insert(scope, tx, [*unkeyed, *firsts.values()])
    missing = [hmac for hmac, episode in firsts.items() if episode.id not in new]
    # A new statement, and so a new snapshot: it sees the rows that the insert waited for.
    taken = episodes.find_by_dedupe(scope, tx, missing) if missing else {}
    return Written(new, taken, firsts)


def _revivable(written: Written, prepared: Sequence[Prepared]) -> set[UUID]:
    """Idle originals that the request brings again; one that it brings with other content only is a conflict, and stays as it is."""
    return {
        stored.id
        for episode in prepared
        if isinstance(episode, NewEpisode) and episode.dedupe_hmac is not None
        if (stored := written.taken.get(episode.dedupe_hmac)) is not None
        and stored.idle
        and stored.status is not Status.TOMBSTONED
        and stored.content_hmac == episode.content_hmac
    }


def _result(scope: ScopeKey, written: Written, episode: Prepared) -> IngestResult:
    if isinstance(episode, Fault):
        return IngestResult(_ref(scope, NIL_ID), IngestStatus.REJECTED, episode)
    if episode.id in written.new:
        return IngestResult(_ref(scope, episode.id), IngestStatus.CREATED, warnings=_expired(scope, episode))
    assert episode.dedupe_hmac is not None  # only a taken key keeps an episode from being inserted
    first = written.firsts[episode.dedupe_hmac]
    stored = written.taken.get(episode.dedupe_hmac) or StoredEpisode(
        first.id, Status.PENDING, first.content_hmac, idle=False, expired=bool(_expired(scope, first))
    )
    ref = _ref(scope, stored.id)
    if stored.status is Status.TOMBSTONED:
        gone = ContextWarning("tombstoned", "this episode was deleted; nothing new was stored", [ref])
        return IngestResult(ref, IngestStatus.DEDUPLICATED, warnings=[gone])
    if stored.content_hmac != episode.content_hmac:
        conflict = DedupeConflict("the dedupeKey stands for other content", details={"field": "dedupeKey"})
        return IngestResult(ref, IngestStatus.REJECTED, Fault.of(conflict))
    if stored.expired:
        over = ContextWarning("expired", "the time of this episode is over; nothing new was stored", [ref])
        return IngestResult(ref, IngestStatus.DEDUPLICATED, warnings=[over])
    return IngestResult(ref, IngestStatus.DEDUPLICATED)


def _expired(scope: ScopeKey, episode: NewEpisode) -> list[ContextWarning]:
    if episode.expires_at is None or episode.expires_at > datetime.now(UTC):
        return []
    return [
        ContextWarning("already_expired", "its expiresAt is past: it is found by nobody", [_ref(scope, episode.id)])
    ]


def _ref(scope: ScopeKey, episode: UUID) -> MemoryRef:
    return MemoryRef(episode, MemoryType.EPISODE, scope.named)


def _event(scope: ScopeKey, episode: UUID, job: UUID) -> events.NewEvent:
    return events.NewEvent(
        scope.namespace,
        EventType.EPISODE_INGESTED,
        episode,
        MemoryType.EPISODE,
        job,
        scope.agent_id,
        scope.session_id,
    )


def dump(value: Json, *, sort_keys: bool = False) -> str:
    """JSON as it is stored: compact, keys in the order they came, nothing escaped that need not be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, allow_nan=False)


def _kept(reply: IngestReply) -> Json:
    """A reply without its scope, which the same request brings along again."""
    results: list[Json] = [
        {
            "id": str(result.ref.id),
            "status": result.status.value,
            "error": None if result.error is None else json.loads(jobs.fault_json(result.error) or "null"),
            "warnings": [[warning.code, warning.message] for warning in result.warnings],
        }
        for result in reply.results
    ]
    return {"job": str(reply.job_id), "results": results}


def _replay(scope: ScopeKey, body: bytes, earlier: tuple[bytes, Any]) -> IngestReply:
    digest, kept = earlier
    if digest != body:
        raise IdempotencyConflict("the Idempotency-Key stands for another request")
    results = []
    for item in kept["results"]:
        ref = _ref(scope, UUID(item["id"]))
        warnings = [ContextWarning(code, message, [ref]) for code, message in item["warnings"]]
        results.append(IngestResult(ref, IngestStatus(item["status"]), jobs.fault(item["error"]), warnings))
    return IngestReply(results, UUID(kept["job"]))
