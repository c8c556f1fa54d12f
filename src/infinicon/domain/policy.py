"""What a namespace wants otherwise than the house does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Seconds; None: as the house has it. `audit_seconds` 0: tombstoned content is gone at once."""

    audit_seconds: int = 0
    default_expiry_seconds: int | None = None
    job_retention_seconds: int | None = None
    event_retention_seconds: int | None = None
