"""extract: the first stage. Episodes of a batch become atoms, each linked to the span that it comes from."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

from infinicon import rendering
from infinicon.domain import BatchRef, EventType, Fault, MemoryType, Stage
from infinicon.errors import InfiniconError
from infinicon.guard import guarded
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction
from infinicon.operations.counting import Counters
from infinicon.operations.leases import Leases
from infinicon.operations.recount import recount
from infinicon.operations.redaction import Redactor
from infinicon.ports import Extraction, Extractor, SourceEpisode
from infinicon.store import atoms, batches, entries, events, jobs, slices
from infinicon.store.atoms import NewAtom, Outcome, PendingEpisode
from infinicon.store.database import Database, Transaction, retry_conflicts


@dataclass(frozen=True, slots=True)
class Made:
    """What became of an episode."""

    episode: PendingEpisode
    statements: Sequence[NewAtom]
    outcome: Outcome


Redactors = Mapping[int, Redactor]
"""What replaces known secrets, by namespace."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the extractor said, and by whom it is to be read."""

    extractions: Mapping[UUID, tuple[PendingEpisode, Extraction]]
    faults: Mapping[UUID, tuple[PendingEpisode, Fault]]


def extract(
    database: Database, keyring: Keyring, extractor: Extractor, counters: Counters, leases: Leases, ref: BatchRef
) -> dict[str, int]:
    """Extract the batch's episodes, redact what comes out, and count what each memory costs in a context; an episode that the
    extractor cannot take fails alone. Of a slice of a reindex it counts what was not counted; of one that has grown too long, the
    rest goes back in line. Answers with counts.

    Raises:
        LeaseLost: another worker has the batch.
        InfiniconError: retryable faults of the extractor go through: they are an outage, and the batch waits for another attempt.
    """
    with leases.stage(ref) as token:
        with database.transaction(ref.tenant) as tx:
            pending = atoms.pending(ref.tenant, tx, ref.batch)
            redactors = _redactors(tx, keyring, ref, pending)
            parts = slices.of_batch(ref.tenant, tx, ref.batch)
            if parts:
                batches.hold(ref.tenant, tx, ref.batch, token)
                parts = [slices.shortened(ref.tenant, tx, ref.batch, part) for part in parts]
        for part in parts:
            recount(database, counters, ref.tenant, part)
        extractions: dict[UUID, tuple[PendingEpisode, Extraction]] = {}
        faults: dict[UUID, tuple[PendingEpisode, Fault]] = {}
        for episode in pending:
            try:
                extraction = guarded(Stage.EXTRACT, extractor.name, extractor.extract, source(episode))
            except InfiniconError as error:
                if error.retryable:
                    raise
                faults[episode.id] = (episode, Fault.of(error, stage=Stage.EXTRACT.value))
            else:
                extractions[episode.id] = (episode, extraction)
        found = Found(extractions, faults)
        made = _all_made(counters, redactors, found)
        created = _commit(
            database, keyring, counters, f"{extractor.name}@{extractor.version}", ref, token, found, redactors, made
        )
    return {"episodes": len(pending), "atoms": created, "failed": len(faults)}


def source(episode: PendingEpisode) -> SourceEpisode:
    """What the extractor sees."""
    return SourceEpisode(
        episode.content_type,
        episode.content if is_text(episode.content_type) else json.loads(episode.content),
        json.loads(episode.metadata),
        episode.occurred_at,
    )


def is_text(content_type: str) -> bool:
    """Whether content of this type is text as it stands, and no JSON."""
    return content_type.lower().startswith("text/")


def _redactors(tx: Transaction, keyring: Keyring, ref: BatchRef, pending: Sequence[PendingEpisode]) -> Redactors:
    return redaction.within(tx, ref.tenant, keyring, {episode.namespace for episode in pending})


def _all_made(counters: Counters, redactors: Redactors, found: Found) -> Mapping[UUID, Made]:
    """Derived text passes the redactor again: what an extractor joins may be a secret that no piece of the source was."""
    return {
        episode.id: _made(counters, episode, _redacted(redactors[episode.namespace], extraction))
        for episode, extraction in found.extractions.values()
    }


def _redacted(redactor: Redactor, extraction: Extraction) -> Extraction:
    if redactor.idle:
        return extraction
    statements = [
        replace(atom, content=redactor.text(atom.content), speaker=redactor.optional(atom.speaker))
        for atom in extraction.atoms
    ]
    return replace(
        extraction,
        atoms=statements,
        searchable=redactor.text(extraction.searchable),
        speaker=redactor.optional(extraction.speaker),
    )


@retry_conflicts
def _commit(
    database: Database,
    keyring: Keyring,
    counters: Counters,
    producer: str,
    ref: BatchRef,
    token: UUID,
    found: Found,
    redactors: Redactors,
    everything: Mapping[UUID, Made],
) -> int:
    with database.transaction(ref.tenant) as tx:
        batches.hold(ref.tenant, tx, ref.batch, token)
        episodes = [episode for episode, _ in [*found.extractions.values(), *found.faults.values()]]
        now = _redactors(tx, keyring, ref, episodes)
        if any(now[namespace] is not redactors[namespace] for namespace in now):
            everything = _all_made(counters, now, found)  # a secret became known while the extractor worked
        faults = {episode.id: now[episode.namespace].fault(fault) for episode, fault in found.faults.values()}
        # What was cancelled or tombstoned while the extractor worked says nothing any more.
        held = atoms.hold(ref.tenant, tx, ref.batch)
        made = [one for episode, one in everything.items() if episode in held]
        statements = [atom for one in made for atom in one.statements]
        entries.use_counter(tx, counters.budget)
        new = atoms.insert(ref.tenant, tx, producer, rendering.VERSION, statements)
        atoms.record(ref.tenant, tx, rendering.VERSION, [one.outcome for one in made])
        failed = batches.fail_episodes(ref.tenant, tx, ref.batch, faults)
        batches.advance(ref.tenant, tx, ref.batch, token, Stage.EMBED)
        errors = {job: faults[episode] for episode, job in failed.items()}
        jobs.count(ref.tenant, tx, {}, Counter(failed.values()), errors)
        events.append(
            ref.tenant, tx, [_event(everything[atom.episode].episode, atom.id) for atom in statements if atom.id in new]
        )
    return len(new)


def _made(counters: Counters, episode: PendingEpisode, extraction: Extraction) -> Made:
    return Made(episode, _statements(counters, episode, extraction), _outcome(counters, episode, extraction))


def _statements(counters: Counters, episode: PendingEpisode, extraction: Extraction) -> Sequence[NewAtom]:
    return [
        NewAtom(
            id=new_id(),
            episode=episode.id,
            namespace=episode.namespace,
            fingerprint=fingerprint(episode.agent_id, episode.session_id, episode.filters, atom.speaker, atom.content),
            content=atom.content,
            atom_type=atom.atom_type,
            speaker=atom.speaker,
            occurred_at=atom.occurred_at or episode.occurred_at,
            confidence=atom.confidence,
            span=atom.span,
            whole=extraction.whole,
            unit=counters.unit(
                atom.speaker or episode.author,
                atom.occurred_at or episode.occurred_at,
                episode.created_at,
                atom.content,
            ),
            own=counters.stored(atom.content),
        )
        for atom in extraction.atoms
    ]


def fingerprint(
    agent_id: str | None, session_id: str | None, filters: str | None, speaker: str | None, statement: str
) -> bytes:
    """Names a statement in its scope, 16 bytes: NFC, white space folded, every script and letter case kept.

    The first byte of each part tells an absent one from an empty one. The rule's version is part of the digest: 1.
    """
    digest = blake2b(b"1", digest_size=16)
    folded = " ".join(unicodedata.normalize("NFC", statement).split())
    for part in (agent_id, session_id, filters, speaker, folded):
        encoded = b"" if part is None else b"=" + part.encode()
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.digest()


def _outcome(counters: Counters, episode: PendingEpisode, extraction: Extraction) -> Outcome:
    """An episode whose only atom says all of it is found by that atom; indexing it as well would count it double."""
    same = extraction.searchable == episode.content
    when = _when(episode, extraction)
    unit = None
    if not extraction.whole:
        text = episode.content if is_text(episode.content_type) else extraction.searchable
        unit = counters.unit(extraction.speaker or episode.author, when, episode.created_at, text)
    return Outcome(
        episode.id,
        None if same else extraction.searchable,
        extraction.speaker,
        when,
        embed_self=not extraction.whole,
        unit=unit,
    )


def _when(episode: PendingEpisode, extraction: Extraction) -> datetime | None:
    """When the episode was said: as it came in, or else the one moment that all of its content names."""
    named = {atom.occurred_at for atom in extraction.atoms}
    return episode.occurred_at or (named.pop() if len(named) == 1 else None)


def _event(episode: PendingEpisode, atom: UUID) -> events.NewEvent:
    return events.NewEvent(
        episode.namespace,
        EventType.ATOM_EXTRACTED,
        atom,
        MemoryType.ATOM,
        episode.job,
        episode.agent_id,
        episode.session_id,
    )
