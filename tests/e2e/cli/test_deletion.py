"""Deletion, its proof, and policies, as a person gives them in."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer, run


def verify(live: Instance, text: str, *options: str) -> tuple[int, dict[str, object]]:
    command = [sys.executable, "-m", "infinicon.cli", "verify-erasure", "--json", *options]
    environment = {**os.environ, "INFINICON_DATA_DIR": str(live.data_dir)}
    done = subprocess.run(
        command, env=environment, input=text, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_a_deletion_is_proved(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    # Not the whole name of the namespace: that is a piece of the text, and stays.
    text = f"The vault code of {namespace[-9:]} is quokka seven. The orchard gate code of it is on the blue tag."
    (ref,) = ingest_indexed(client, note(text, metadata={"about": "quokka"}, dedupeKey=text))
    code, before = verify(live, text)
    assert (code, before["clean"]) == (1, False)
    held = {(trace["what"], trace["column"], trace.get("type")) for trace in before["traces"]}  # type: ignore[attr-defined]
    assert {("whole", "content", "episode"), ("whole", "dedupe_key", "episode"), ("piece", "content", "atom")} <= held

    done = answer(live, "tombstone", ref["id"], "--namespace", namespace, "--reason", "asked for")
    assert done["results"][0]["status"] == "tombstoned"
    code, after = verify(live, text, "--rewrite")
    assert (code, after["proven"], after["traces"], after["files"]) == (0, True, [], [])
    assert after["tables"] > 10  # type: ignore[operator]
    assert after["notReached"]
    assert after["notLookedFor"]


def test_short_sentences_that_stay_are_found(live: Instance, client: Client) -> None:
    word = str(client.scope["namespaceId"])[-9:]
    text = f"My {word} is 49. Ann has {word}."
    (ref,) = ingest_indexed(client, note(text))
    answer(live, "tombstone", ref["id"], "-n", str(client.scope["namespaceId"]), "--reason", "x", "--cascade", "none")
    code, found = verify(live, text)
    assert code == 1
    assert {(t["what"], t.get("type"), t.get("status")) for t in found["traces"]} >= {("piece", "atom", "active")}  # type: ignore[attr-defined]


def test_nothing_is_proven_where_something_could_not_be_looked_for(live: Instance) -> None:
    text = "Nobody here ever said a word of the seven quokkas. I am ill."
    code, found = verify(live, text)
    assert (code, found["clean"], found["proven"], found["tooShort"]) == (7, True, False, 1)
    command = [sys.executable, "-m", "infinicon.cli", "verify-erasure", "--data-dir", str(live.data_dir)]
    plain = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert plain.returncode == 7
    assert "which is not proof" in plain.stdout
    assert verify(live, text, "--skip-short")[0] == 0


def test_what_proves_nothing_is_refused(live: Instance) -> None:
    command = ["verify-erasure", "--data-dir", str(live.data_dir)]
    done = subprocess.run(
        [sys.executable, "-m", "infinicon.cli", *command],
        input="abc",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "proves nothing" in done.stderr


def test_an_erasure_by_metadata(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    ingest_indexed(
        client, note("Rosa moved to Turin.", metadata={"person": "p1"}), note("It rained.", metadata={"n": 1})
    )

    refused = run(live, "erase", "--namespace", namespace, "--reason", "x")
    assert refused.returncode == 2
    assert "--everything" in refused.stderr
    job = answer(live, "erase", "-n", namespace, "--metadata", "person=p1", "--reason", "asked for", "--wait")
    assert (job["status"], job["progress"]["done"]) == ("completed", 1)
    assert "Rosa" not in run(live, "export", namespace).stdout
    assert run(live, "erase", "-n", namespace, "--everything", "--reason", "over", "--wait").returncode == 0
    assert run(live, "export", namespace).stdout == ""


def test_policies(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    set_to = answer(live, "policy", "set", "audit=12h", "default-expiry=30d", "--namespace", namespace)
    house = {"consolidationWidth": "agent", "redactCredentials": False}
    assert set_to == {"policy": {"auditSeconds": 43200, "defaultExpirySeconds": 2592000, **house}}
    assert answer(live, "policy", "set", "audit=none", "default-expiry=none", "-n", namespace) == {
        "policy": {"auditSeconds": 0, **house}
    }
    assert "as the house has it" in run(live, "policy", "show", "-n", namespace).stdout


def test_a_policy_of_consolidation(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    options = ["--consolidate-schedule", "0 3 * * *", "--consolidate-threshold", "200", "--consolidate-idle", "30m"]
    set_to = answer(live, "policy", "set", namespace, *options, "--consolidate-width", "namespace", "audit=1m")
    wanted = {
        "auditSeconds": 60,
        "consolidationWidth": "namespace",
        "consolidationSchedule": "0 3 * * *",
        "consolidationThreshold": 200,
        "consolidationIdleSeconds": 1800,
        "redactCredentials": False,
    }
    assert set_to == {"policy": wanted} == answer(live, "policy", "show", namespace)
    shown = run(live, "policy", "show", namespace).stdout
    assert "0 3 * * *" in shown
    assert "86400 s" in shown  # the age behind a threshold
    off = answer(live, "policy", "set", namespace, "--consolidate-schedule", "15m", "consolidate-threshold=none")
    assert off["policy"]["consolidationSchedule"] == 900
    assert "consolidationThreshold" not in off["policy"]


@pytest.mark.parametrize(
    "change", ["audit", "colour=1d", "audit=soon", "consolidate-threshold=-1", "consolidate-schedule=61 * * * *"]
)
def test_what_is_no_policy(live: Instance, change: str) -> None:
    assert run(live, "policy", "set", change, "-n", "x").returncode == 2


def test_a_change_that_says_nothing(live: Instance) -> None:
    assert run(live, "policy", "set", "x").returncode == 2


def test_deleting_what_is_not_there(live: Instance, client: Client) -> None:
    namespace = str(client.scope["namespaceId"])
    done = run(live, "tombstone", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d", "-n", namespace, "--reason", "x")
    assert (done.returncode, done.stdout.split()[:2]) == (5, ["not_found", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"])
