"""What the tasks are registered as."""

from __future__ import annotations

from infinicon.settings import Settings
from infinicon.tasks import handlers, names, process
from infinicon.tasks.schedule import schedule

ROUTINE = (
    handlers.dispatch_waiting,
    handlers.reconcile_lost,
    handlers.forget_done,
    handlers.go_on_deleting,
    handlers.expire_memories,
    handlers.go_on_redacting,
    handlers.consolidate_due,
    handlers.end_retention,
)
STAGES = (handlers.extract_batch, handlers.embed_batch, handlers.index_batch)


def test_they_have_their_names() -> None:
    assert tuple(task.name for task in ROUTINE) == names.ROUTINE
    assert [task.name for task in STAGES] == list(names.STAGES.values())


def test_routine_tasks_send_no_events_and_keep_no_results() -> None:
    assert [(task.send_events, task.ignore_result) for task in ROUTINE] == [(False, True)] * len(ROUTINE)


def test_stages_are_shown_in_flower() -> None:
    assert all(task.send_events for task in (*STAGES, handlers.consolidate_slice))


def test_consolidations_have_a_queue_of_their_own() -> None:
    assert handlers.consolidate_slice.name == names.CONSOLIDATE
    assert process.WORKERS["consolidate"].queues == (names.CONSOLIDATIONS,)
    assert [kind for kind, worker in process.WORKERS.items() if names.CONSOLIDATIONS in worker.queues] == [
        "consolidate"
    ]


def test_what_is_kept_no_longer_is_looked_for_every_minute() -> None:
    sent = {entry.task: entry for entry in schedule(Settings()).values()}

    assert sent[names.END_RETENTION].period <= 60
