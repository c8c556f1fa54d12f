"""What a namespace wants otherwise than the house does."""

from __future__ import annotations

from dataclasses import dataclass

from infinicon.domain.consolidation import Width


@dataclass(frozen=True, slots=True)
class Policy:
    """Seconds; None: as the house has it. `audit_seconds` 0: tombstoned content is gone at once. `redact_credentials`: what looks like one
    is replaced when it is written.

    Consolidations start by themselves where something says when: a schedule (a crontab, or seconds, in UTC), a number of atoms that
    wait, the age of the oldest of them, or so many seconds without a new one. None: not for that reason; but a threshold without an age
    has one of a day behind it.
    """

    audit_seconds: int = 0
    default_expiry_seconds: int | None = None
    job_retention_seconds: int | None = None
    event_retention_seconds: int | None = None
    consolidation_width: Width = Width.AGENT
    consolidation_schedule: str | int | None = None
    consolidation_threshold: int | None = None
    consolidation_max_age_seconds: int | None = None
    consolidation_idle_seconds: int | None = None
    redact_credentials: bool = False
