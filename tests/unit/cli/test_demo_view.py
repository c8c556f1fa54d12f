"""What the demo shows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from infinicon.cli import demo_view as view
from infinicon.cli.client import Wire
from infinicon.cli.instance import Instance
from infinicon.cli.transcript import Progress


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), highlight=False, width=200)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def hit(sources: list[Wire]) -> Wire:
    return {"ref": {"id": "a1", "type": "atom"}, "score": 0.5, "reason": "semantic [1]", "sources": sources}


EPISODE = {
    "id": "e1",
    "content": "Houston, we've had a problem. [static]",
    "createdBy": {"id": "CDR", "kind": "user"},
    "metadata": {"speaker": "CDR", "get": "02:07:55:35"},
    "occurredAt": "1970-04-14T03:08:35Z",
}


def test_an_answer_shows_ref_score_reason_text_speaker_and_mission_time(console: Console) -> None:
    objects = {
        "a1": {"id": "a1", "content": "Houston, we've had a problem. [static]", "createdBy": {"id": "x"}},
        "e1": EPISODE,
    }

    view.answer(console, 1, "What [bold] problem?", [hit([{"id": "e1"}])], objects, 0.02)

    for part in ("atom a1", "0.500", "semantic [1]", "[static]", "CDR (Lovell)", "02:07:55:35", "What [bold] problem?"):
        assert part in shown(console)


def test_a_hit_without_sources_speaks_for_itself(console: Console) -> None:
    view.answer(console, 1, "q", [{**hit([]), "ref": {"id": "e1", "type": "episode"}}], {"e1": EPISODE}, 0.02)

    assert "CDR (Lovell), mission time 02:07:55:35" in shown(console)


def test_lines_show_where_the_episodes_are(console: Console) -> None:
    with view.live_progress(console, 10) as live:
        live.show(Progress())
        live.show(Progress(total=7, waiting=1, extract=2, embed=2, index=1, done=1))
        live.show(Progress(total=10, done=9, failed=1))

    first, last = shown(console).splitlines()
    assert first.endswith("accepted 7 of 10: waiting 1, extract 2, embed 2, index 1, done 1, failed 0")
    assert last.endswith("accepted 10 of 10: waiting 0, extract 0, embed 0, index 0, done 9, failed 1")


def test_bars_count_what_has_left_each_stage() -> None:
    progress = Progress(total=10, waiting=1, extract=2, embed=3, index=1, done=2, failed=1)

    assert view._reached(progress) == {"accepted": 10, "extracted": 7, "embedded": 4, "findable": 3}


def test_bars_on_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)

    with view.live_progress(console, 10) as live:
        live.show(Progress(total=10, done=10))

    assert "10/10" in shown(console)


def test_flower_tasks_are_grouped_by_name(console: Console) -> None:
    tasks: dict[str, Wire] = {
        "1": {"name": "infinicon.extract", "state": "SUCCESS", "runtime": 1.0},
        "2": {"name": "infinicon.extract", "state": "SUCCESS", "runtime": 2.0},
        "3": {"name": "infinicon.embed", "state": "STARTED", "runtime": None},
    }

    view.flower(console, Instance("", "", "", "http://f", "", "", Path("/"), 0), tasks)

    assert "saw 3 tasks" in shown(console)
    assert "2 SUCCESS" in shown(console)
    assert "1.50 s on average" in shown(console)


def test_the_verdict_names_what_is_missing(console: Console) -> None:
    view.verdict(console, ["question 2 found nothing"])

    assert "missing: question 2 found nothing" in shown(console)
    assert "Everything that went in" not in shown(console)


def test_the_verdict_is_good_only_without_faults(console: Console) -> None:
    view.verdict(console, [])

    assert "Everything that went in can be found" in shown(console)
