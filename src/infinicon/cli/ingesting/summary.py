"""What came of a run: as JSON, and as two or three lines for people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from infinicon.cli.client import Wire
from infinicon.cli.ingesting.progress import duration
from infinicon.cli.ingesting.waiting import Standing


@dataclass(frozen=True, slots=True)
class Summary:
    """`status`: completed, failed (something was rejected, broken or not indexed), stopped (by a fault) or interrupted."""

    status: str
    namespace: str
    label: str
    sources: int
    read: int
    created: int
    deduplicated: int
    tombstoned: int
    broken: int
    left_out: int
    requests: int
    retries: int
    seconds: float
    rejected: Mapping[str, int] = field(default_factory=dict)
    indexed: Standing | None = None

    def to_wire(self) -> Wire:
        wire: Wire = {
            "status": self.status,
            "namespaceId": self.namespace,
            "label": self.label,
            "sources": self.sources,
            "episodesRead": self.read,
            "created": self.created,
            "deduplicated": self.deduplicated,
            "tombstoned": self.tombstoned,
            "rejected": sum(self.rejected.values()),
            "rejectedByCode": dict(self.rejected),
            "broken": self.broken,
            "leftOut": self.left_out,
            "requests": self.requests,
            "retries": self.retries,
            "jobs": self.requests,
            "seconds": round(self.seconds, 3),
        }
        if self.indexed is not None:
            wire["indexed"] = {"done": self.indexed.done, "failed": self.indexed.failed, "total": self.indexed.total}
        return wire

    def lines(self) -> list[str]:
        answered = self.created + self.deduplicated + sum(self.rejected.values())
        rate = f", {answered / self.seconds:,.0f} a second" if self.seconds >= 1 else ""
        lines = [
            f"{count(answered, 'episode')} in {count(self.requests, 'request')}, {duration(self.seconds)}{rate}: {self.created:,} created, "
            f"{self.deduplicated:,} deduplicated, {sum(self.rejected.values()):,} rejected"
        ]
        if self.tombstoned:
            lines.append(f"{self.tombstoned:,} of those deduplicated were deleted before, and stay deleted")
        if self.broken or self.left_out:
            lines.append(
                f"not sent: {count(self.broken, 'broken place')}, {count(self.left_out, 'message')} without text"
            )
        if self.indexed is not None:
            lines.append(f"indexed: {self.indexed.done:,} of {self.indexed.total:,}, {self.indexed.failed:,} failed")
        if self.requests:
            options = f"--label {shlex.quote(self.label)} --namespace {shlex.quote(self.namespace)}"
            lines.append(f"{count(self.requests, 'job')}; watch: infinicon jobs {options}")
        return lines


def count(number: int, what: str) -> str:
    """1 episode, 2 episodes."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
