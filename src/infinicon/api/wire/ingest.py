"""ingest: episodes in, one result for each."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SkipValidation, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.hydrate import read_ref
from infinicon.api.wire.shared import (
    ActorRef,
    ContextWarning,
    MemoryApiError,
    MemoryRef,
    Name,
    Scope,
    Time,
    actor_of,
    check_name,
    fault_to_wire,
    present,
    ref_to_wire,
    scope_of,
    warnings_to_wire,
)
from infinicon.api.wire.validate import Body, check, refused, rule, storable_size
from infinicon.errors import InfiniconError, InvalidContent, TooLarge

TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"  # noqa: S105 -- the `token` of RFC 9110, 5.6.2
MEDIA_TYPE = re.compile(rf'{TOKEN}/{TOKEN}(?:[ \t]*;[ \t]*{TOKEN}=(?:{TOKEN}|"[^"\\\x00-\x1f\x7f]*"))*')
IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{limits.IDEMPOTENCY_KEY_CHARACTERS}}}")


def check_content_type(value: str) -> str:
    if not MEDIA_TYPE.fullmatch(value):
        raise rule("must be a media type such as text/plain; charset=utf-8")
    return value


def check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    if (storable_size(value) or 0) > limits.METADATA_BYTES:
        raise rule("must have at most 16 KiB as compact JSON")
    return value


Tag = Annotated[str, Field(min_length=1, max_length=limits.TAG_CHARACTERS), AfterValidator(check_name)]


class IngestEpisode(Body):
    """One episode. A fault in it rejects this episode alone."""

    content_type: Annotated[str, Field(max_length=limits.CONTENT_TYPE_CHARACTERS), AfterValidator(check_content_type)]
    """`text/*` but for markup (such as `text/html`), `application/json` or `application/*+json`; the extractor of the installation decides.
    Any other is `unsupported_media_type`, with the families that are read in `details.supported`, and in `details.except` the text
    types that are not."""
    content: Annotated[
        Any, WithJsonSchema({"description": "A string for text/*, any JSON value otherwise; at most 1 MiB in UTF-8."})
    ]
    created_by: ActorRef | None = None
    """Who made it; the holder of the key where it is absent. It is kept, and not searched: who spoke belongs in metadata."""
    dedupe_key: Annotated[str, Field(min_length=1, max_length=limits.DEDUPE_KEY_CHARACTERS)] | None = None
    """Compared byte for byte within the whole scope."""
    metadata: Annotated[dict[str, Any], AfterValidator(check_metadata)] | None = None
    """At most 16 KiB as compact JSON. `speaker`, or else `role`, is read as the speaker and indexed with the text."""
    tags: Annotated[list[Tag], Field(max_length=limits.TAGS)] | None = None
    """Kept with the episode and its atoms."""
    occurred_at: Time | None = None
    """When it was said or written, where that is known."""
    expires_at: Time | None = None
    """From then on it is not found any more."""
    corrects: Annotated[list[MemoryRef], Field(max_length=limits.CORRECTIONS)] | None = None
    """Memories of the scope that were wrong: once this one is indexed they are `superseded`, joined to it by a `corrects` link."""
    supersedes: Annotated[list[MemoryRef], Field(max_length=limits.CORRECTIONS)] | None = None
    """Memories of the scope that held until now: once this one is indexed they are `superseded`, joined by a `supersedes` link."""


class IngestRequest(Body):
    scope: Scope
    episodes: Annotated[list[SkipValidation[IngestEpisode]], Field(min_length=1, max_length=limits.EPISODES)]
    consistency: Literal["accepted", "indexed"] = "accepted"
    """`indexed` answers when every created or deduplicated episode is visible to query, or with index_timeout."""
    label: Annotated[Name, Field(max_length=limits.LABEL_CHARACTERS)] | None = None
    """Groups the jobs of one back-fill: each of its jobs carries it. It is not searched."""
    lane: Literal["interactive", "bulk"] | None = None
    """`interactive` goes ahead of `bulk`. Absent: interactive for up to 16 episodes of together up to about 32 KB, else bulk."""


class IngestResult(Body):
    ref: MemoryRef
    """The original's at a dedupe conflict; the nil UUID where nothing exists."""
    status: Literal["created", "deduplicated", "rejected"]
    """`deduplicated`: the dedupeKey was there with the same content, and the ref is the original's."""
    error: MemoryApiError | SkipJsonSchema[None] = None
    """Why it was rejected."""
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None
    """`tombstoned`, `expired`: it was deleted before, or its time is over, and it stays so. `already_expired`: its own expiresAt is past.
    `corrections_ignored`: it was there before, and does not correct or supersede what this request names."""


class IngestReply(Body):
    results: list[IngestResult]
    """One for each episode, in order."""
    job_id: str
    """What getJob is asked with."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """A request as the operation takes it, and whether the answer waits until it is indexed."""

    request: domain.IngestRequest
    indexed: bool


def parse(body: bytes, idempotency_key: str | None) -> Ingest:
    """Read a request. An episode that breaks a rule becomes a Fault in its place.

    Raises:
        InvalidRequest: the body, the count, the scope or another field beside the episodes breaks a rule.
    """
    if idempotency_key is not None and not IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        raise refused("Idempotency-Key", f"must be 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} visible ASCII characters")
    sent = check(IngestRequest, strict_json.loads(body))
    request = domain.IngestRequest(
        scope=scope_of(sent.scope),
        episodes=[_episode_or_fault(episode) for episode in sent.episodes],
        label=sent.label,
        lane=None if sent.lane is None else domain.Lane(sent.lane),
        idempotency_key=idempotency_key,
        body_digest=hashlib.sha256(body).digest(),
    )
    return Ingest(request, sent.consistency == "indexed")


def _episode_or_fault(sent: object) -> domain.IngestEpisode | domain.Fault:
    try:
        return _episode(sent)
    except InfiniconError as error:
        return domain.Fault.of(error)


def _episode(sent: object) -> domain.IngestEpisode:
    if storable_size(sent) is None:
        raise InvalidContent(
            "the episode holds NUL or a lone surrogate", details={"rule": "no NUL, no lone surrogates"}
        )
    episode = check(IngestEpisode, sent, "episode")
    _check_size(episode.content)
    return domain.IngestEpisode(
        content_type=episode.content_type,
        content=episode.content,
        created_by=None if episode.created_by is None else actor_of(episode.created_by),
        dedupe_key=episode.dedupe_key,
        metadata=episode.metadata or {},
        tags=episode.tags or (),
        occurred_at=episode.occurred_at,
        expires_at=episode.expires_at,
        corrects=[read_ref(ref) for ref in episode.corrects or ()],
        supersedes=[read_ref(ref) for ref in episode.supersedes or ()],
    )


def _check_size(content: Any) -> None:
    size = len(content.encode()) if isinstance(content, str) else storable_size(content) or 0
    if size > limits.CONTENT_BYTES:
        raise TooLarge(
            f"content must not be larger than {limits.CONTENT_BYTES} bytes",
            details={"field": "content", "limit": limits.CONTENT_BYTES},
        )


def to_wire(reply: domain.IngestReply) -> dict[str, Any]:
    return {"results": [_result_to_wire(result) for result in reply.results], "jobId": str(reply.job_id)}


def _result_to_wire(result: domain.IngestResult) -> dict[str, Any]:
    return present(
        ref=ref_to_wire(result.ref),
        status=result.status.value,
        error=None if result.error is None else fault_to_wire(result.error),
        warnings=warnings_to_wire(result.warnings),
    )
