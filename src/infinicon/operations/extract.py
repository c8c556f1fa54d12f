"""extract: the first stage. Episodes of a batch become atoms, each linked to the span that it comes from."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from infinicon import rendering
from infinicon.domain import BatchRef, EventType, Fault, MemoryType, Stage
from infinicon.errors import InfiniconError
from infinicon.guard import guarded
from infinicon.ids import new_id
from infinicon.operations.counting import Counters
from infinicon.operations.leases import Leases
from infinicon.ports import Extraction, Extractor, SourceEpisode
from infinicon.store import atoms, batches, events, jobs
from infinicon.store.atoms import NewAtom, Outcome, PendingEpisode
from infinicon.store.database import Database, retry_conflicts


@dataclass(frozen=True, slots=True)
class Made:
    """What became of an episode."""

    episode: PendingEpisode
    statements: Sequence[NewAtom]
    outcome: Outcome


Found = Mapping[UUID, Made]


def extract(
    database: Database, extractor: Extractor, counters: Counters, leases: Leases, ref: BatchRef
) -> dict[str, int]:
    """Extract the batch's episodes, and count what each memory costs in a context; an episode that the extractor cannot take fails
    alone. Answers with counts.

    Raises:
        LeaseLost: another worker has the batch.
        InfiniconError: retryable faults of the extractor go through: they are an outage, and the batch waits for another attempt.
    """
    with leases.stage(ref) as token:
        with database.transaction(ref.tenant) as tx:
            pending = atoms.pending(ref.tenant, tx, ref.batch)
        found: dict[UUID, Made] = {}
        faults: dict[UUID, Fault] = {}
        for episode in pending:
            try:
                extraction = guarded(Stage.EXTRACT, extractor.name, extractor.extract, source(episode))
            except InfiniconError as error:
                if error.retryable:
                    raise
                faults[episode.id] = Fault.of(error, stage=Stage.EXTRACT.value)
            else:
                found[episode.id] = _made(counters, episode, extraction)
        created = _commit(database, f"{extractor.name}@{extractor.version}", ref, token, found, faults)
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


@retry_conflicts
def _commit(
    database: Database, producer: str, ref: BatchRef, token: UUID, found: Found, faults: Mapping[UUID, Fault]
) -> int:
    with database.transaction(ref.tenant) as tx:
        batches.hold(ref.tenant, tx, ref.batch, token)
        # What was cancelled or tombstoned while the extractor worked says nothing any more.
        held = atoms.hold(ref.tenant, tx, ref.batch)
        made = [found[episode] for episode in found if episode in held]
        statements = [atom for one in made for atom in one.statements]
        new = atoms.insert(ref.tenant, tx, producer, rendering.VERSION, statements)
        atoms.record(ref.tenant, tx, rendering.VERSION, [one.outcome for one in made])
        failed = batches.fail_episodes(ref.tenant, tx, ref.batch, faults)
        batches.advance(ref.tenant, tx, ref.batch, token, Stage.EMBED)
        errors = {job: faults[episode] for episode, job in failed.items()}
        jobs.count(ref.tenant, tx, {}, Counter(failed.values()), errors)
        events.append(
            ref.tenant, tx, [_event(found[atom.episode].episode, atom.id) for atom in statements if atom.id in new]
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
    unit = None
    if not extraction.whole:
        text = episode.content if is_text(episode.content_type) else extraction.searchable
        unit = counters.unit(extraction.speaker or episode.author, episode.occurred_at, episode.created_at, text)
    return Outcome(
        episode.id,
        None if same else extraction.searchable,
        extraction.speaker,
        embed_self=not extraction.whole,
        unit=unit,
    )


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
