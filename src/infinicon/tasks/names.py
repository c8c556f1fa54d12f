"""Names of tasks and queues: data that messages in flight rely on. A name, once released, stays.

A stage has one task and a queue for each lane, so that bulk work never stands in front of a conversation.
"""

from __future__ import annotations

from infinicon.domain import Lane, Stage

EXTRACT = "infinicon.extract"
EMBED = "infinicon.embed"
INDEX = "infinicon.index"
DISPATCH = "infinicon.dispatch"
RECONCILE = "infinicon.reconcile"
FORGET = "infinicon.forget"
PURGE = "infinicon.purge"
EXPIRE = "infinicon.expire"
CONSOLIDATE = "infinicon.consolidate"
CONSOLIDATE_DUE = "infinicon.consolidate_due"
REDACT = "infinicon.redact"
END_RETENTION = "infinicon.end_retention"

STAGES: dict[Stage, str] = {Stage.EXTRACT: EXTRACT, Stage.EMBED: EMBED, Stage.INDEX: INDEX}
"""The stages of the chain in their order."""

ROUTINE = (DISPATCH, RECONCILE, FORGET, PURGE, EXPIRE, REDACT, CONSOLIDATE_DUE, END_RETENTION)
"""Tasks that keep the pipeline going, sent again and again."""

CONTROL = "control"
"""The queue of what keeps the pipeline going: short tasks without a batch."""

REDACTION = "redact"
"""The queue of what takes secrets out of what is stored: it needs a model, and must not stand behind a back-fill."""


CONSOLIDATIONS = "consolidate"
"""The queue of consolidations: by itself, since a slice may take minutes, and nothing else shall wait behind it."""


def queue(stage: Stage, lane: Lane) -> str:
    """The queue of a stage in a lane."""
    return f"{stage.value}.{lane.value}"


QUEUES: tuple[str, ...] = (
    CONTROL,
    REDACTION,
    CONSOLIDATIONS,
    *(queue(stage, lane) for stage in STAGES for lane in Lane),
)


def task_id(batch: str, stage: Stage, attempt: int) -> str:
    """Ids say what a task is about, a batch or a consolidation's job. getJob finds a batch's tasks by them; the store composes the same
    text in SQL."""
    return f"{batch}-{stage.value}-{attempt}"
