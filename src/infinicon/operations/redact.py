"""redact: a secret that became known after it was written is taken out of what is stored, as a job.

It goes through all memories of the tenant, and rewrites those that hold a known secret, each in one transaction: words, the spans that
point into them, counts, lexemes and vectors. Digests of what came in stay, so that the same content sent again is still known. A memory
that a batch carries is left until the batch is through: what it writes meanwhile is redacted already.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from infinicon import lexemes, rendering
from infinicon.domain import (
    NIL_ID,
    Caller,
    EventType,
    Job,
    Lane,
    MemoryType,
    Scope,
    ScopeKey,
    Stage,
    Status,
    TokenCounts,
)
from infinicon.errors import InfiniconError
from infinicon.guard import guarded
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction, secrets
from infinicon.operations.counting import Counters
from infinicon.operations.embed import Vector, cut, encode, rendered
from infinicon.operations.erase import remove
from infinicon.operations.extract import fingerprint
from infinicon.operations.redaction import Redactor
from infinicon.operations.rewording import moved_span, quoted_anew, reworded, textual
from infinicon.ports import Embedder, Extractor, SourceEpisode
from infinicon.store import events, jobs, names, redactions, spaces, tombstones
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.redactions import Stored, Words
from infinicon.store.spaces import Chunk, Unembedded

REASON = "a source of it was redacted"

PAGE = 200
SECONDS = 20.0
"""Then another task goes on: no worker's thread is held for long."""

PHASES = ("memories", "links", "tombstones", "jobs", "queued", "keys", "left")
"""What is gone through, in this order. The last has what was in other hands before."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a redaction works with."""

    database: Database
    keyring: Keyring
    extractor: Extractor
    embedder: Embedder
    counters: Counters


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of one memory. `cut`: it says a piece of a secret only. Vectors by digest of their text."""

    stored: Stored
    words: Words
    cut: bool
    unit: TokenCounts
    own: TokenCounts
    chunks: list[Chunk]
    vectors: Mapping[bytes, Vector]
    terms: Mapping[tuple[UUID, int], Mapping[int, int]]


@retry_conflicts
def redact(database: Database, caller: Caller, tenant_id: str, secret_id: str) -> Job:
    """Start to take a known secret out of all that the tenant has stored, and answer with the job. It belongs to no namespace.

    Raises:
        NotFound: there is no such secret.
        Unauthorized: the caller is no admin of the whole tenant.
    """
    secrets.allow(caller, tenant_id)
    whole = ScopeKey(caller.tenant, jobs.TENANT, Scope(tenant_id, ""))
    with database.transaction(caller.tenant) as tx:
        secret = secrets.known(caller.tenant, tx, secret_id)
        job = new_id()
        jobs.insert(whole, tx, job, jobs.REDACT, Lane.BULK, None, max(1, redactions.count(caller.tenant, tx)))
        redactions.specify(
            caller.tenant,
            tx,
            job,
            {"secret": str(secret.id), "phase": PHASES[0], "after": str(NIL_ID), "left": [], "named": 0},
        )
        found = jobs.fold(whole, tx, job)
    assert found is not None  # it was inserted in this transaction
    return found


def carry_on(tools: Tools, tenant: int, job: UUID) -> int:
    """Go on for at most `SECONDS`; how many memories were rewritten. What stays in other hands waits for the next call."""
    began, rewritten = time.monotonic(), 0
    while time.monotonic() - began < SECONDS:
        with tools.database.transaction(tenant) as tx:
            spec = redactions.spec(tenant, tx, job)
        if spec is None:
            break
        number, following = _step(tools, tenant, job, spec)
        rewritten += number
        if not _proceed(tools.database, tools.keyring, tenant, job, spec, following):
            break
    return rewritten


@retry_conflicts
def _proceed(
    database: Database, keyring: Keyring, tenant: int, job: UUID, spec: dict[str, Any], following: dict[str, Any]
) -> bool:
    """Note where the job stands. False: it is over, waits, or is in other hands."""
    with database.transaction(tenant) as tx:
        seen = following.pop("seen", 0)
        if not redactions.advance(tenant, tx, job, spec, following, seen):
            return False
        if following["phase"] == PHASES[-1] and not following["left"]:
            redactions.complete(tenant, tx, job, _names(tx, tenant, keyring, following["named"]))
            return False
    return bool(following != spec)


def _step(tools: Tools, tenant: int, job: UUID, spec: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """One page of the phase that the job is in: how many memories were rewritten, and where it stands then."""
    phase, after = spec["phase"], UUID(spec["after"])
    if phase == "left":
        rewritten, left = _memories(tools, tenant, job, None, [UUID(one) for one in spec["left"]])
        return rewritten, {**spec, "left": left}
    if phase == "memories":
        with tools.database.transaction(tenant) as tx:
            ids = redactions.page(tenant, tx, after, PAGE)
            redactor = redaction.current(tx, tenant, tools.keyring)
            named = sum(any(map(redactor.changes, said)) for said in names.named(tenant, tx, ids))
        rewritten, left = _memories(tools, tenant, job, ids, [])
        following = {
            **spec,
            "left": [*spec["left"], *left],
            "named": spec["named"] + named,
            "seen": len(ids),
        }
        return rewritten, _next(following, ids[-1] if ids else None)
    return 0, _next(spec, _beside(tools, tenant, phase, after))


def _next(spec: dict[str, Any], last: UUID | None) -> dict[str, Any]:
    """Behind `last`; None: the next phase from its beginning."""
    if last is not None:
        return {**spec, "after": str(last)}
    return {**spec, "phase": PHASES[PHASES.index(spec["phase"]) + 1], "after": str(NIL_ID)}


def _memories(
    tools: Tools, tenant: int, job: UUID, ids: list[UUID] | None, waiting: list[UUID]
) -> tuple[int, list[str]]:
    """Rewrite those of the memories that hold a secret: how many were, and which of them could not be yet."""
    info = tools.embedder.model
    with tools.database.transaction(tenant) as tx:
        # What a batch made of a memory that was left may have come after the page it would have been on.
        wanted = ids if ids is not None else [*waiting, *redactions.derived(tenant, tx, waiting)]
        found = redactions.load(tenant, tx, wanted)
        redactors = redaction.within(tx, tenant, tools.keyring, {one.namespace for one in found})
        model = spaces.register_model(tx, info.name, info.revision, info.dimension)
    rewritten, left = 0, []
    for stored in found:
        redactor = redactors[stored.namespace]
        # First what is derived from it: where it was cut from is known only as long as this one stands as it was.
        words = reworded(redactor, stored)
        pieces = [] if words.content == stored.words.content else _pieces(tools.database, tenant, redactor, stored)
        wanted_words = [(piece, said, True) for piece, said in pieces]
        words = _derived_again(tools, redactor, stored, words)
        if words != stored.words:
            wanted_words.append((stored, words, False))
        done = 0
        for one, said, cut_through in wanted_words:
            if not _commit(tools, tenant, job, model, redactor, _plan(tools, one, said, cut_through=cut_through)):
                left.append(str(stored.id))
                break
            done += 1
        rewritten += done
    return rewritten, left


def _pieces(database: Database, tenant: int, redactor: Redactor, stored: Stored) -> list[tuple[Stored, Words]]:
    """Atoms that quote a part of a secret, which no redactor knows by itself, and what they say from now on."""
    with database.transaction(tenant) as tx:
        quotes = {derived: span for _, derived, span in redactions.spans(tenant, tx, stored.id)}
        atoms = [one for one in redactions.load(tenant, tx, quotes) if one.type is MemoryType.ATOM]
    found = []
    for atom in atoms:
        text = quoted_anew(redactor, stored, quotes[atom.id])
        if text is None:
            continue
        by_itself = reworded(redactor, atom)
        words = replace(by_itself, content=redactor.text(text))
        if words != by_itself:
            found.append((atom, words))
    return found


def _derived_again(tools: Tools, redactor: Redactor, stored: Stored, words: Words) -> Words:
    """With the text by which an episode is found, and its speaker, as the extractor makes them of its new words: it may have changed a
    secret before that was known, so that nothing known is found in them."""
    same = (words.content, words.metadata) == (stored.words.content, stored.words.metadata)
    nothing = words.search_text is None and words.speaker is None
    if same or nothing or stored.type is not MemoryType.EPISODE or words.content is None:
        return words
    content = words.content if textual(stored) else json.loads(words.content)
    episode = SourceEpisode(words.content_type or "text/plain", content, dict(words.metadata), stored.occurred_at)
    try:
        extraction = guarded(Stage.EXTRACT, tools.extractor.name, tools.extractor.extract, episode)
    except InfiniconError as fault:
        if fault.retryable:
            raise
        return replace(words, search_text=None if words.search_text is None else words.content)
    searchable = redactor.text(extraction.searchable)
    return replace(
        words,
        search_text=None if searchable == words.content else searchable,
        speaker=redactor.optional(extraction.speaker),
    )


def _plan(tools: Tools, stored: Stored, words: Words, *, cut_through: bool) -> Plan:
    """What is slow: vectors and counts. No transaction is open."""
    text = (words.content if words.search_text is None else words.search_text) or ""
    unit = own = TokenCounts()
    kind = words.created_by.get("kind")
    if stored.rendered:
        author = str(words.created_by.get("id")) if kind in {"user", "agent"} else None
        plain = words.content if words.content is not None and textual(stored) else text
        unit = tools.counters.unit(words.speaker or author, stored.occurred_at, stored.created_at, plain)
    if stored.counted:
        own = tools.counters.stored(words.content or "")
    if not stored.indexed:
        return Plan(stored, words, cut_through, unit, own, [], {}, {})
    memory = Unembedded(stored.id, stored.namespace, stored.type, words.speaker, text)
    chunks, texts = cut(tools.embedder, [memory])
    vectors = zip(texts, encode(tools.embedder, list(texts.values())), strict=True)
    terms: dict[tuple[UUID, int], Mapping[int, int]] = {
        (one.memory, one.chunk): lexemes.lexeme_ids(rendered(words.speaker, text[one.start : one.end]))
        for one in chunks
    }
    found = {digest: vector for digest, vector in vectors if vector is not None}
    return Plan(stored, words, cut_through, unit, own, chunks, found, terms)


@retry_conflicts
def _commit(tools: Tools, tenant: int, job: UUID, model: int, redactor: Redactor, plan: Plan) -> bool:
    """Put the new words in the place of the old ones, with all that goes with them. False: the memory has changed, or is in other hands."""
    stored = plan.stored
    scope = ScopeKey(tenant, stored.namespace, Scope("", "", stored.agent_id, stored.session_id))
    with tools.database.transaction(tenant) as tx:
        if redaction.in_scope(scope, tx, tools.keyring) is not redactor:
            return False  # more became known: the plan knows too little
        jobs.take_turn(scope, tx)  # no reindex cuts slices while it is not to be seen what this memory says
        if not redactions.hold(tenant, tx, stored.namespace, stored.id):
            return False
        if redactions.load(tenant, tx, [stored.id]) != [stored]:
            return False
        stated, filters = redactions.write(tenant, tx, stored.id, plan.words, rendering.VERSION, plan.unit, plan.own)
        if stated and stored.type is MemoryType.ATOM:
            name = fingerprint(
                stored.agent_id, stored.session_id, filters, plan.words.speaker, plan.words.content or ""
            )
            redactions.state(tenant, tx, stored.namespace, stored.id, name)
        if plan.cut:
            _forget_syntheses(scope, tx, stored)
        _move_spans(tx, tenant, redactor, stored)
        _index(tx, tenant, model, plan)
        if stored.status not in {Status.PENDING, Status.FAILED}:
            events.append(tenant, tx, [_event(scope, stored, job)])
        redactions.count_rewritten(tenant, tx, job)
    return True


def _forget_syntheses(scope: ScopeKey, tx: Transaction, stored: Stored) -> None:
    """What was made of a piece of a secret may say it again in any words: it goes, and is made anew of what its sources say now."""
    derived = redactions.load(scope.tenant, tx, redactions.derived(scope.tenant, tx, [stored.id]))
    gone = [one.id for one in derived if one.type is MemoryType.CONSOLIDATION]
    if gone:
        remove(scope, tx, gone, REASON, None)


def _move_spans(tx: Transaction, tenant: int, redactor: Redactor, stored: Stored) -> None:
    for link, _, span in redactions.spans(tenant, tx, stored.id):
        there = moved_span(redactor, stored, span)
        if there != span:
            redactions.move_span(tenant, tx, link, there)


def _index(tx: Transaction, tenant: int, model: int, plan: Plan) -> None:
    """The rows of the index by which it is found from now on."""
    namespace = plan.stored.namespace
    if plan.stored.indexed:
        gone = tombstones.unindex(tenant, tx, [plan.stored.id]).get(namespace, (0, 0))
        batch = new_id()  # nobody else's: what is staged under it leaves in this transaction
        spaces.stage(tenant, tx, batch, model, plan.chunks, plan.vectors)
        _, _, added = spaces.publish(tenant, tx, batch, plan.terms)
        come = added.get(namespace, (0, 0))
        spaces.add_to_counters(tenant, tx, {namespace: (gone[0] + come[0], gone[1] + come[1])})
    else:
        spaces.add_to_counters(tenant, tx, {namespace: (0, 0)})  # the counter's row is locked before events move it


def _event(scope: ScopeKey, stored: Stored, job: UUID) -> events.NewEvent:
    return events.NewEvent(
        scope.namespace, EventType.MEMORY_INDEXED, stored.id, stored.type, job, scope.agent_id, scope.session_id
    )


@retry_conflicts
def _beside(tools: Tools, tenant: int, phase: str, after: UUID) -> UUID | None:
    """One page of what stands beside memories; the last id that was seen, None at the end."""
    with tools.database.transaction(tenant) as tx:
        redactor = redaction.current(tx, tenant, tools.keyring)
        if phase == "links":
            ids = _links(tx, tenant, redactor, after)
        elif phase == "tombstones":
            ids = _tombstones(tx, tenant, redactor, after)
        elif phase == "jobs":
            ids = _jobs(tx, tenant, redactor, after)
        elif phase == "keys":
            ids = _keys(tx, tenant, redactor, after)
        else:
            ids = _queued(tx, tenant, redactor, after)
    return ids[-1] if ids else None


def _links(tx: Transaction, tenant: int, redactor: Redactor, after: UUID) -> list[UUID]:
    found = redactions.link_speakers(tenant, tx, after, PAGE)
    for link, speaker in found:
        if redactor.changes(speaker):
            redactions.name_speaker(tenant, tx, link, speaker, redactor.text(speaker))
    return [link for link, _ in found]


def _tombstones(tx: Transaction, tenant: int, redactor: Redactor, after: UUID) -> list[UUID]:
    found = redactions.tombstones(tenant, tx, after, PAGE)
    for memory, reason, kept, content_type in found:
        new = redactor.text(reason), redactor.stored(kept)
        if new != (reason, kept):
            redactions.reword_tombstone(tenant, tx, memory, *new)
        if content_type is not None and (plain := redactor.media_type(content_type)) != content_type:
            redactions.retype(tenant, tx, memory, plain)
    return [memory for memory, _, _, _ in found]


def _jobs(tx: Transaction, tenant: int, redactor: Redactor, after: UUID) -> list[UUID]:
    found = redactions.jobs(tenant, tx, after, PAGE)
    for job, label, said in found:
        new = redactor.optional(label), [redactor.json(one) for one in said]
        if new != (label, said):
            redactions.reword_job(tenant, tx, job, *new)
    return [job for job, _, _ in found]


def _queued(tx: Transaction, tenant: int, redactor: Redactor, after: UUID) -> list[UUID]:
    found = redactions.queued_errors(tenant, tx, after, PAGE)
    for episode, error in found:
        new = redactor.json(error)
        if new != error:
            redactions.reword_queued(tenant, tx, episode, new)
    return [episode for episode, _ in found]


def _keys(tx: Transaction, tenant: int, redactor: Redactor, after: UUID) -> list[UUID]:
    found = names.key_labels(tenant, tx, after, PAGE)
    for key, label in found:
        if label is not None and redactor.changes(label):
            names.reword_key(tx, key, redactor.text(label))
    return [key for key, _ in found]


def _names(tx: Transaction, tenant: int, keyring: Keyring, memories: int) -> dict[str, int]:
    """How much is found by a name that says a secret: names are not rewritten, for nothing would be found by them then."""
    redactor = redaction.current(tx, tenant, keyring)
    return {
        "namespaces": sum(map(redactor.changes, names.namespaces(tenant, tx))),
        "bindings": sum(any(map(redactor.changes, said)) for said in names.bindings(tenant, tx)),
        "memories": memories,
    }
