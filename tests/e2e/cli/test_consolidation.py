"""`infinicon consolidate`: looked at, run, taken back."""

from __future__ import annotations

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer, run

SAID = ["Rosa has a blue bicycle!", "Rosa has a blue bicycle."]


def test_a_consolidation_from_preview_to_undo(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    ingest_indexed(client, note("Rosa has a blue bicycle."), note("Rosa has a blue bicycle!"))

    shown = run(live, "consolidate", "-n", namespace, "--preview")
    assert shown.returncode == 0, shown.stderr
    assert "folded into" in shown.stdout
    assert [line.split("  ")[-1].strip() for line in shown.stdout.splitlines()] == SAID
    assert "2 memories looked at; nothing was changed" in shown.stderr
    assert len(answer(live, "consolidate", "-n", namespace, "--preview")["duplicates"]) == 1

    done = run(live, "consolidate", "-n", namespace, "--wait")
    assert done.returncode == 0, done.stderr
    assert "2 memories looked at, 0 consolidations made, 0 superseded, 1 duplicate folded, 0 disputed" in done.stderr
    (job,) = [one for one in answer(live, "jobs", "-n", namespace)["jobs"] if one["type"] == "consolidate"]
    undone = run(live, "consolidate", "-n", namespace, "--undo", job["jobId"])
    assert undone.returncode == 0, undone.stderr
    assert "1 memory active again" in undone.stderr

    again = run(live, "consolidate", "-n", namespace, "--wait")
    assert "0 duplicates folded, 0 disputed, 1 refused" in again.stderr

    started = answer(live, "consolidate", "-n", namespace, "--agent", "nobody")
    assert started["status"] == "completed"
    assert "nothing waits" in run(live, "consolidate", "-n", namespace, "--agent", "nobody").stderr


def test_wishes_that_contradict_each_other_are_refused(live: Instance) -> None:
    for options in (["--undo", "x", "--wait"], ["--preview", "--wait"], ["--undo", "x", "--preview"]):
        done = run(live, "consolidate", "-n", "x", *options)
        assert done.returncode == 2
        assert "leave" in done.stderr
