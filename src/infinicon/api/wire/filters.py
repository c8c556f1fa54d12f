"""MemoryFilters, as query and assembleContext take them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from infinicon import domain
from infinicon.api import limits
from infinicon.api.wire.ingest import Tag
from infinicon.api.wire.shared import Time
from infinicon.api.wire.validate import Body, rule, storable_size

DEFAULT_STATUSES = ("active",)


def check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    size = storable_size(value)
    if size is None:
        raise rule("must not hold NUL or lone surrogates")
    if size > limits.METADATA_BYTES:
        raise rule("must have at most 16 KiB as compact JSON")
    return value


class MemoryFilters(Body):
    """Filters narrow what a question finds within the scope, all of them at once. A member that is not known here is refused: a filter
    that was passed over would widen the answer."""

    model_config = ConfigDict(extra="forbid")

    types: (
        Annotated[
            list[Literal["episode", "atom", "consolidation", "link"]], Field(min_length=1, max_length=limits.FILTERED)
        ]
        | None
    ) = None
    """Links are hydrated, not searched: alone they find nothing."""
    statuses: (
        Annotated[
            list[Literal["active", "disputed", "superseded", "tombstoned", "pending", "failed"]],
            Field(min_length=1, max_length=limits.FILTERED),
        ]
        | None
    ) = None
    """Absent: active. Only active, disputed and superseded memories are ever found, whatever else stands here."""
    include_disputed: bool = False
    """Adds disputed ones to `statuses`, or to the active ones where it is absent."""
    include_superseded: bool = False
    """Adds superseded ones to `statuses`, or to the active ones where it is absent."""
    include_tombstoned: bool = False
    """Taken, and changes nothing: tombstoned memory is never found."""
    created_after: Time | None = None
    """The memory's own createdAt, later than this."""
    created_before: Time | None = None
    """The memory's own createdAt, earlier than this."""
    metadata: Annotated[dict[str, Any], AfterValidator(check_metadata)] | None = None
    """JSON that the memory's metadata, or that of one of its living sources, contains; at most 16 KiB."""
    tags: Annotated[list[Tag], Field(min_length=1, max_length=limits.TAGS)] | None = None
    """All of them are tags of the memory, or of that same source of it; whole tags, as they were written."""


def filters_of(body: MemoryFilters | None) -> domain.MemoryFilters:
    """The filters of a request, or those of one that has none."""
    if body is None:
        return domain.MemoryFilters()
    statuses = set(body.statuses or DEFAULT_STATUSES)
    if body.include_disputed:
        statuses.add("disputed")
    if body.include_superseded:
        statuses.add("superseded")
    return domain.MemoryFilters(
        types=None if body.types is None else frozenset(map(domain.MemoryType, body.types)),
        statuses=domain.SEARCHABLE & frozenset(map(domain.Status, statuses)),
        created_after=body.created_after,
        created_before=body.created_before,
        metadata=body.metadata,
        tags=frozenset(body.tags or ()),
    )
