"""embed: the second stage. What a batch has to index gets vectors, identical text in a namespace once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from infinicon.domain import BatchRef, Stage
from infinicon.errors import InfiniconError, MissingDependency, PluginFailed, Unavailable
from infinicon.guard import guarded
from infinicon.operations.leases import Leases
from infinicon.ports import Embedder
from infinicon.store import batches, jobs, slices, spaces
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.spaces import Chunk, Unembedded

Vector = NDArray[np.float16]

SMALLEST_NORM = 1e-3
"""Of a vector that says something; ports.Embedder promises unit length."""


def embed(database: Database, embedder: Embedder, leases: Leases, ref: BatchRef) -> dict[str, int]:
    """Embed the batch. A text that the model cannot take gets no vector: its words find it, and its job names it.

    Raises:
        LeaseLost: another worker has the batch.
        Unavailable: the encoder does not answer; the batch waits for another attempt.
    """
    with leases.stage(ref) as token:
        info = embedder.model
        with database.transaction(ref.tenant) as tx:
            model = spaces.register_model(tx, info.name, info.revision, info.dimension)
            held = slices.of_batch(ref.tenant, tx, ref.batch)
            anew = {memory.id: memory for part in held for memory in slices.memories(ref.tenant, tx, part)}
            new_ones = {memory.id: memory for memory in spaces.unembedded(ref.tenant, tx, ref.batch)}
        memories = list({**anew, **new_ones}.values())
        chunks, texts = cut(embedder, memories)
        with database.transaction(ref.tenant) as tx:
            vectors = _known(ref.tenant, tx, model, new_ones, chunks)
        new = [digest for digest in texts if digest not in vectors]
        fresh = encode(embedder, [texts[digest] for digest in new])
        found = {**vectors, **{digest: v for digest, v in zip(new, fresh, strict=True) if v is not None}}
        _commit(database, ref, token, model, chunks, found)
    return {"memories": len(memories), "texts": len(new), "without_vector": len(texts) - len(found)}


def rendered(speaker: str | None, text: str) -> str:
    """What the model reads: who spoke, then the words. The prefix is worth 3 to 10 points of recall on conversations."""
    return text if speaker is None else f"{speaker}: {text}"


def cut(embedder: Embedder, memories: Sequence[Unembedded]) -> tuple[list[Chunk], dict[bytes, str]]:
    """Chunks of all memories, and the text to embed for each digest."""
    spans = guarded(Stage.EMBED, embedder.model.name, embedder.chunk, [memory.text for memory in memories])
    chunks: list[Chunk] = []
    texts: dict[bytes, str] = {}
    for memory, cuts in zip(memories, spans, strict=True):
        for number, span in enumerate(cuts):
            text = rendered(memory.speaker, memory.text[span.start : span.end])
            digest = blake2b(text.encode(), digest_size=16).digest()
            texts.setdefault(digest, text)
            chunks.append(Chunk(memory.id, number, span.start, span.end, digest))
    return chunks, texts


def _known(
    tenant: int, tx: Transaction, model: int, memories: Mapping[UUID, Unembedded], chunks: Sequence[Chunk]
) -> dict[bytes, Vector]:
    """Vectors that the index has for texts of these memories, but for texts that are to be embedded anew as well."""
    anew = {chunk.digest for chunk in chunks if chunk.memory not in memories}
    wanted: dict[int, set[bytes]] = {}
    for chunk in chunks:
        if chunk.digest not in anew:
            wanted.setdefault(memories[chunk.memory].namespace, set()).add(chunk.digest)
    known: dict[bytes, Vector] = {}
    for namespace, digests in sorted(wanted.items()):
        known |= spaces.known_vectors(tenant, tx, namespace, model, digests)
    return known


PROBE = "The sun rises in the east."
"""A text that every embedder takes: one that refuses it is broken, whatever it was asked."""


def encode(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """Vectors in order, None for a text that the model cannot take: a call that fails for its data is halved until that text is alone.

    What comes back as zero or not finite is no vector either.

    Raises:
        InfiniconError: retryable faults and a missing model go through at once; they are an outage, not the data.
        Unavailable: the embedder refuses any text at all.
    """
    if not texts:
        return []
    try:
        return _vectors(embedder, texts)
    except InfiniconError as fault:
        _raise_outage(fault)
    try:
        _vectors(embedder, [PROBE])
    except InfiniconError as fault:
        _raise_outage(fault)
        raise Unavailable("the embedder refuses every text", details={"stage": Stage.EMBED.value}) from None
    return _halved(embedder, texts)


def _halved(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """For texts of which at least one is refused by an embedder that works."""
    if len(texts) == 1:
        return [None]
    found: list[Vector | None] = []
    middle = len(texts) // 2
    for half in (texts[:middle], texts[middle:]):
        try:
            found += _vectors(embedder, half)
        except InfiniconError as fault:
            _raise_outage(fault)
            found += _halved(embedder, half)
    return found


def _raise_outage(fault: InfiniconError) -> None:
    if fault.retryable or isinstance(fault, MissingDependency):
        raise fault


def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    vectors = guarded(Stage.EMBED, embedder.model.name, embedder.embed, texts)
    if np.shape(vectors) != (len(texts), embedder.model.dimension):
        raise PluginFailed(
            "the embedder answered with another shape than it promises", details={"stage": Stage.EMBED.value}
        )
    norms = np.linalg.norm(vectors.astype(np.float32), axis=1)
    usable = np.isfinite(norms) & (norms > SMALLEST_NORM)
    return [vector if kept else None for vector, kept in zip(vectors, usable, strict=True)]


@retry_conflicts
def _commit(
    database: Database,
    ref: BatchRef,
    token: UUID,
    model: int,
    chunks: Sequence[Chunk],
    vectors: Mapping[bytes, Vector],
) -> None:
    without = sorted({chunk.memory for chunk in chunks if chunk.digest not in vectors})
    with database.transaction(ref.tenant) as tx:
        batches.hold(ref.tenant, tx, ref.batch, token)
        spaces.stage(ref.tenant, tx, ref.batch, model, chunks, vectors)
        batches.advance(ref.tenant, tx, ref.batch, token, Stage.INDEX)
        if without:
            jobs.warn(ref.tenant, tx, ref.batch, without)
