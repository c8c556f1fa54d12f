"""acceptance: episodes a second through the door, beside the same rows written by hand into one plain table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg

from bench import owner
from bench.backfill import wait_for
from bench.figure import Chart, Direction, Figure, Round, Task
from bench.noise import Watched
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, running

EPISODES = 6000
QUICK_EPISODES = 4000

TABLE = """
    CREATE TABLE bench_plain (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(), namespace text, content_type text, content text, created_by jsonb, metadata jsonb,
      dedupe_key text UNIQUE, occurred_at timestamptz, created_at timestamptz NOT NULL DEFAULT now()
    )
"""
COLUMNS = "namespace, content_type, content, created_by, metadata, dedupe_key, occurred_at"
INSERT = f"INSERT INTO bench_plain ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 -- constants
COPY = f"COPY bench_plain ({COLUMNS}) FROM STDIN"

Connection = psycopg.Connection[tuple[Any, ...]]
Rows = Sequence[tuple[str, ...]]


def measure(task: Task) -> Iterator[Round]:
    episodes = transcript.read(transcript.SAMPLE)[: QUICK_EPISODES if task.quick else EPISODES]
    with running(task.scratch / "data") as instance, owner.connect(instance) as connection:
        for number in range(task.rounds):
            namespace = f"round-{number}"
            sent = transcript.Sent()
            with Client(instance, namespace) as client:
                with Watched() as ours:
                    transcript.send(client, episodes, sent)
                # The workers began with the first request. They have to be idle again before the baseline runs.
                wait_for(client, sent.job_ids)
            rows = [_row(namespace, episode) for episode in episodes]
            with Watched() as inserting:
                inserted = _into_plain_table(connection, rows, _insert)
            copied = _into_plain_table(connection, rows, _copy)
            yield Round(
                len(episodes) / ours.seconds,
                len(episodes) / inserted,
                max(ours.disturbed, inserting.disturbed),
                {"COPY, episodes/s": len(episodes) / copied},
            )


def _row(namespace: str, episode: Wire) -> tuple[str, ...]:
    return (
        namespace,
        episode["contentType"],
        episode["content"],
        json.dumps(episode["createdBy"]),
        json.dumps(episode["metadata"]),
        episode["dedupeKey"],
        episode["occurredAt"],
    )


def _into_plain_table(connection: Connection, rows: Rows, write: Callable[[Connection, Rows], None]) -> float:
    """Seconds for all rows, in transactions as large as the requests of ingest."""
    connection.execute(TABLE)
    connection.commit()
    began = time.perf_counter()
    for start in range(0, len(rows), transcript.EPISODES_A_REQUEST):
        write(connection, rows[start : start + transcript.EPISODES_A_REQUEST])
        connection.commit()
    seconds = time.perf_counter() - began
    connection.execute("DROP TABLE bench_plain")
    connection.commit()
    return seconds


def _insert(connection: Connection, rows: Rows) -> None:
    for row in rows:
        connection.execute(INSERT, row)


def _copy(connection: Connection, rows: Rows) -> None:
    with connection.cursor().copy(COPY) as copy:
        for row in rows:
            copy.write_row(row)


def chart(rounds: Sequence[Round]) -> Chart:
    return Chart(
        "bars",
        "The same episodes, three ways in",
        "round",
        "episodes/s",
        [str(number) for number in range(1, len(rounds) + 1)],
        {
            "ingest": [item.ours for item in rounds],
            "INSERT, row by row": [item.baseline for item in rounds],
            "COPY": [item.information["COPY, episodes/s"] for item in rounds],
        },
    )


FIGURE = Figure(
    name="acceptance",
    says="How fast episodes are taken in, as a share of how fast the same rows go into one plain table by hand.",
    ours="episodes/s accepted by POST /v0/ingest",
    baseline="episodes/s by one INSERT a row",
    direction=Direction.AT_LEAST,
    bound=0.15,
    why="An episode is three rows (itself, its place in the queue, its event) where the plain table has one, and before them come HTTP, "
    "strict JSON, checks and two HMACs. About six times a bare INSERT is what that may cost; at that rate taking in is still several times "
    "faster than embedding, so that no back-fill waits for it.",
    how="A fresh `infinicon up` for all rounds. In each, the first 6,000 utterances of Apollo 13 go into a new namespace, 1,000 a request "
    "and two requests in flight, while the workers begin with them; the clock stops at the last reply. When the workers are idle again, "
    "the same rows go into one plain table of the same Postgres (a primary key, a unique dedupe key, no policies) over its socket, one "
    "INSERT a row and one commit every 1,000; then once more by COPY.",
    rounds=5,
    quick_rounds=2,
    measure=measure,
    chart=chart,
)
