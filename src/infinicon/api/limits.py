"""Every limit that the API enforces. The OpenAPI document states them from here, so what it says is what is checked."""

from __future__ import annotations

from infinicon.domain import (
    CHAIN_STEPS,
    MOST_ENTRIES,
    MOST_SEGMENTS,
    OVERSIZED_COUNTED,
    QUERY_DEPTH,
    QUERY_SECONDS,
    RELATIONS,
)
from infinicon.errors import Detail

KIB = 1024
MIB = 1024 * KIB

HEAD_BYTES = 64 * KIB
HEAD_SECONDS = 15.0
BODY_IDLE_SECONDS = 30.0
BODY_SECONDS = 20.0
BODY_BYTES_A_SECOND = 16 * KIB
"""A body has 20 seconds, and a second more for every 16 KiB that came."""
BODIES_TOGETHER = 8
"""All bodies that are held at once may be so many times as large as one may be."""
SMALL_BODY_BYTES = 256 * KIB
"""A body up to this size is taken whatever the others are."""
JSON_DEPTH = 64
JSON_VALUES = 1_000_000
"""Ten million empty arrays fit into a body; they take a gigabyte and hold the interpreter for 24 seconds (measured)."""

IDENTIFIER_CHARACTERS = 256
SCOPE_FILTERS_BYTES = 16 * KIB

EPISODES = 1_000
CONTENT_BYTES = 1 * MIB
CONTENT_TYPE_CHARACTERS = 255
DEDUPE_KEY_CHARACTERS = 1_024
METADATA_BYTES = 16 * KIB
TAGS = 64
TAG_CHARACTERS = 256
LABEL_CHARACTERS = 256
IDEMPOTENCY_KEY_CHARACTERS = 255

QUERY_CHARACTERS = 8_192
QUERY_LIMIT = 1_000
QUERY_LIMIT_DEFAULT = 10
FILTERED = 16
"""Types, and states, that a filter names: more than there are, so that repeats do no harm."""

TASK_CHARACTERS = 8_192
TOKENS = 2**53 - 1
"""The largest number that every JSON reader takes for an integer."""

REFS = 1_000

JOBS = 200
JOBS_DEFAULT = 50

CORRECTIONS = 64

KEY_NAMESPACES = 1_000

SECRET_CHARACTERS_LEAST = 8
"""Shorter values are words of their own in too many texts to be replaced."""
SECRET_CHARACTERS = 8_192

REASON_CHARACTERS = 4_096

EVENTS = 1_000
EVENTS_DEFAULT = 100
EVENT_TYPES = 64
STREAMS = 512
STREAMS_PER_KEY = 128
"""Event streams at once, of the process and of one key. They hold neither a thread nor a connection while nothing happens."""
HEARTBEAT_SECONDS = 10.0
"""A stream is never silent for longer, give or take a moment."""
STREAM_STALL_SECONDS = 60.0
"""A reader that takes nothing for so long while there is something to take is hung up on."""

WAITING_REQUESTS = 1_000
"""Requests that wait for consistency `indexed` or `strong` at once. They hold neither a thread nor a connection."""

THREADS = 64
"""Requests that work at once; the others queue for a thread, in order."""


def document(*, body_bytes: int, concurrent_requests: int, key_requests: int, wait_seconds: float) -> dict[str, Detail]:
    """The object `x-limits` of the OpenAPI document. Sizes are bytes of UTF-8, lengths are Unicode code points."""
    return {
        "bodyBytes": body_bytes,
        "headBytes": HEAD_BYTES,
        "jsonDepth": JSON_DEPTH,
        "jsonValues": JSON_VALUES,
        "identifierCharacters": IDENTIFIER_CHARACTERS,
        "scopeFiltersBytes": SCOPE_FILTERS_BYTES,
        "episodesPerRequest": EPISODES,
        "contentBytes": CONTENT_BYTES,
        "contentTypeCharacters": CONTENT_TYPE_CHARACTERS,
        "dedupeKeyCharacters": DEDUPE_KEY_CHARACTERS,
        "metadataBytes": METADATA_BYTES,
        "tagsPerEpisode": TAGS,
        "tagCharacters": TAG_CHARACTERS,
        "labelCharacters": LABEL_CHARACTERS,
        "idempotencyKeyCharacters": IDEMPOTENCY_KEY_CHARACTERS,
        "queryCharacters": QUERY_CHARACTERS,
        "queryLimit": QUERY_LIMIT,
        "queryLimitDefault": QUERY_LIMIT_DEFAULT,
        "queryDepth": QUERY_DEPTH,
        "queryCursorSeconds": QUERY_SECONDS,
        "taskCharacters": TASK_CHARACTERS,
        "contextSegments": MOST_SEGMENTS,
        "entriesPerAnswer": MOST_ENTRIES,
        "oversizedCounted": OVERSIZED_COUNTED,
        "refsPerRequest": REFS,
        "chainSteps": CHAIN_STEPS,
        "relations": RELATIONS,
        "correctionsPerEpisode": CORRECTIONS,
        "reasonCharacters": REASON_CHARACTERS,
        "jobsPerPage": JOBS,
        "jobsPerPageDefault": JOBS_DEFAULT,
        "namespacesPerKey": KEY_NAMESPACES,
        "secretCharactersLeast": SECRET_CHARACTERS_LEAST,
        "secretCharacters": SECRET_CHARACTERS,
        "eventsPerPage": EVENTS,
        "eventsPerPageDefault": EVENTS_DEFAULT,
        "streams": STREAMS,
        "streamsPerKey": STREAMS_PER_KEY,
        "streamHeartbeatSeconds": HEARTBEAT_SECONDS,
        "streamStallSeconds": STREAM_STALL_SECONDS,
        "concurrentRequests": concurrent_requests,
        "keyRequestsPerMinute": key_requests,
        "waitingRequests": WAITING_REQUESTS,
        "waitSeconds": wait_seconds,
        "headSeconds": HEAD_SECONDS,
        "bodyIdleSeconds": BODY_IDLE_SECONDS,
        "bodySeconds": BODY_SECONDS,
        "bodyBytesPerSecond": BODY_BYTES_A_SECOND,
    }
