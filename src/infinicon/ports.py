"""What a plug-in implements. Each Protocol is found by an entry point and proved by a suite in infinicon.testing.

Groups: infinicon.extractors, infinicon.embedders, infinicon.token_counters, infinicon.consolidators. An entry point names a callable
that takes the Settings and returns the plug-in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from infinicon.domain import Json, MemoryType, Span

Vectors: TypeAlias = NDArray[np.float16]
"""Shape (texts, dimension), each row of unit length."""


@dataclass(frozen=True, slots=True)
class SourceEpisode:
    """What an extractor sees of an episode: text for text/*, any JSON value otherwise."""

    content_type: str
    content: Json
    metadata: dict[str, Json] = field(default_factory=dict)
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExtractedAtom:
    """One claim, word for word: `content` is characters [span.start, span.end) of the string at span.path."""

    content: str
    span: Span
    atom_type: str = "statement"
    speaker: str | None = None
    occurred_at: datetime | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The atoms of one episode, in order, and the text by which the episode itself is found (plain, without markup).

    `whole` says that the only atom says all that the episode says, so that indexing both would be double.
    """

    atoms: Sequence[ExtractedAtom]
    searchable: str
    speaker: str | None = None
    whole: bool = False


class Extractor(Protocol):
    """Turns an episode into atoms. Deterministic for equal `name` and `version`; safe to call from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def supports(self, content_type: str) -> bool:
        """Whether it reads this media type. An episode of any other is rejected when it is ingested."""
        ...

    def extract(self, episode: SourceEpisode) -> Extraction:
        """Raises InvalidContent where the content is not of its contentType; all else counts as the plug-in's fault."""
        ...


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Identity of an embedding model: vectors compare only where all three agree."""

    name: str
    revision: str
    dimension: int
    max_tokens: int


class Embedder(Protocol):
    """Turns text into unit vectors. Safe to call from several threads."""

    @property
    def model(self) -> ModelInfo: ...

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        """Cut each text into spans the model reads whole (never silently truncated); at least one for each text."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors for documents, in the order of `texts`. Hand over many at a time: sorting by length saves padding."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Shape (1, dimension)."""
        ...


class TokenCounter(Protocol):
    """Counts tokens of a text, the same on every machine and for good: counts are stored. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The name of its entry point, by which a budget asks for it."""
        ...

    def count(self, text: str) -> int:
        """At least 0, and 0 for the empty text. Takes every string, with lone surrogates and NUL as well, in a time that grows with its
        length and not with the square of it; what looks like a special token is ordinary text."""
        ...


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """What a consolidator sees of an active atom or consolidation. `key` names it in the plan, and says nothing else.

    `fresh`: no consolidation has looked at it yet; the others are there to be compared with. `sources`, of a consolidation: the keys of its
    sources as far as they are among the memories given.
    """

    key: str
    type: MemoryType
    content: str
    created_at: datetime
    occurred_at: datetime | None = None
    speaker: str | None = None
    session_id: str | None = None
    title: str | None = None
    tags: Sequence[str] = ()
    sources: Sequence[str] = ()
    disputed: bool = False
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class ConsolidationInput:
    """Memories of one scope, in no order that means anything.

    `vectors`: shape (len(memories), dimension), unit rows in the order of `memories`. `token_budget`: what `count` may give for the
    content of one digest.
    """

    memories: Sequence[SourceMemory]
    vectors: Vectors
    token_budget: int
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Digest:
    """A new consolidation: what several memories say together. `replaces` are earlier consolidations whose place it takes."""

    title: str
    content: str
    sources: Sequence[str]
    replaces: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Supersession:
    """`old` held once; since `new` it holds no more. `reason` is a word of the plug-in, never text of a memory."""

    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two memories contradict each other, and nothing says which of them holds. `reason` as above."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """`folded` says nothing that `kept` does not say."""

    kept: str
    folded: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a consolidator proposes. The runtime checks every key, and applies the whole of it or nothing."""

    digests: Sequence[Digest] = ()
    supersessions: Sequence[Supersession] = ()
    disputes: Sequence[Dispute] = ()
    duplicates: Sequence[Duplicate] = ()


class Consolidator(Protocol):
    """Turns many memories into fewer and better ones. It sees one scope at a time and writes nothing. Safe to call from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def deterministic(self) -> bool:
        """Whether equal input, in any order, gives an equal plan."""
        ...

    def consolidate(self, request: ConsolidationInput) -> Plan:
        """Each memory is in the place of at most one other: a key is `old` or `folded` once at most, and never both kept and folded. A
        digest has two sources at least. Empty input gives the empty plan."""
        ...
