"""`infinicon jobs` as a person calls it."""

from __future__ import annotations

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import bulk_stands_still, note
from tests.e2e.cli.commands import answer, run
from tests.waiting import wait_until


def test_jobs_are_listed_watched_cancelled_and_retried(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    here = ("--namespace", namespace)
    with bulk_stands_still(live):
        job = client.ingest([note(f"Fact number {n}.") for n in range(400)], lane="bulk", label="archive")["jobId"]
        cancelled = run(live, "jobs", job, *here, "--cancel")
    assert cancelled.returncode == 0, cancelled.stderr
    assert f"job {job}" in cancelled.stdout
    assert "remedy" in cancelled.stdout
    assert run(live, "jobs", job, *here, "--watch").returncode == 1
    shown = run(live, "jobs", *here, "--label", "archive")
    assert shown.stdout.splitlines()[1].split()[:3] == [job, "ingest", "cancelled"]
    assert "1 cancelled" in shown.stderr

    retried = run(live, "jobs", job, *here, "--retry", "--watch")
    assert retried.returncode == 0, retried.stderr
    lines = retried.stdout.splitlines()
    assert lines[-1] == "completed  400/400"
    assert len(lines) == len(set(lines))
    assert answer(live, "jobs", job, *here) == client.job(job)
    listed = answer(live, "jobs", *here)
    assert [found["jobId"] for found in listed["jobs"]] == [job]
    assert listed["summary"]["progress"]["done"] == 400
    assert "it was over already" in run(live, "jobs", job, *here, "--cancel").stderr
    assert run(live, "jobs", *here, "--label", "archive", "--watch").returncode == 0


def test_what_is_not_there_and_what_makes_no_sense(live: Instance, client: Client) -> None:
    job = client.ingest([note()])["jobId"]
    wait_until(lambda: client.job(job)["status"] == "completed", "the job ends")

    missing = run(live, "jobs", job, "--namespace", "elsewhere")
    assert (missing.returncode, missing.stdout) == (5, "")
    assert run(live, "jobs", "--namespace", "elsewhere", "--watch").returncode == 0
    assert run(live, "jobs", "--cancel", "--namespace", "elsewhere").returncode == 2
    assert run(live, "jobs").returncode == 2
    assert run(None, "jobs", "-n", "x", INFINICON_URL="http://127.0.0.1:1", INFINICON_API_KEY="inf_x").returncode == 3
