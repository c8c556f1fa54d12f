"""query, hydrate, namespaces, stats, export and doctor against a running Infinicon."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer, run


@pytest.fixture
def namespace(client: Client) -> str:
    ingest_indexed(
        client,
        note(
            "Rosa moved to Turin. Her bicycle stayed in Lyon.", dedupeKey="a", createdBy={"id": "rosa", "kind": "user"}
        ),
        note("The boiler was serviced in May.", dedupeKey="b", metadata={"n": 1}),
    )
    return str(client.scope["namespaceId"])


def test_a_question_is_answered_with_its_source(live: Instance, namespace: str) -> None:
    done = run(live, "query", "Where does Rosa live now?", "--namespace", namespace, "--limit", "1")
    assert done.returncode == 0
    assert "Turin" in done.stdout
    assert "rosa" in done.stdout

    best = answer(live, "query", "Where does Rosa live now?", INFINICON_NAMESPACE=namespace)["refs"][0]
    assert "Turin" in best["object"]["content"]
    shown = answer(live, "hydrate", best["ref"]["id"], "--namespace", namespace)
    assert [item["id"] for item in shown["objects"]] == [best["ref"]["id"]]
    assert "source" not in run(live, "hydrate", best["ref"]["id"], "-n", namespace).stderr


def test_a_question_is_narrowed(live: Instance, namespace: str, client: Client) -> None:
    ingest_indexed(client, note("The boiler hums.", tags=["heat", "cellar"], metadata={"n": 2}))
    (old,) = ingest_indexed(client, note("The boiler is green."))
    ingest_indexed(client, note("The boiler is grey.", supersedes=[old]))

    def found(*options: str) -> set[str]:
        reply = answer(live, "query", "the boiler", "--namespace", namespace, "--type", "atom", *options)
        return {hit["object"]["content"] for hit in reply["refs"] if "boiler" in hit["object"]["content"]}

    serviced, hums, green, grey = (
        "The boiler was serviced in May.",
        "The boiler hums.",
        "The boiler is green.",
        "The boiler is grey.",
    )
    assert found() == found("--after", "2020-01-01", "--before", "9999-01-01") == {serviced, hums, grey}
    assert found("--tag", "heat") == found("--tag", "heat", "--tag", "cellar") == found("--metadata", "n=2") == {hums}
    assert found("--tag", "heat", "--metadata", "n=1") == found("--before", "2020-01-01") == set()
    assert found("--superseded") == {serviced, hums, green, grey}
    text = run(live, "query", "green boiler", "-n", namespace, "--superseded", "--disputed", "--limit", "1").stdout
    assert "superseded" in text.splitlines()[0]
    wrong = run(live, "query", "x", "-n", namespace, "--after", "soon")
    assert (wrong.returncode, "--after" in wrong.stderr) == (2, True)


def test_what_is_not_there_is_exit_code_5(live: Instance, namespace: str) -> None:
    done = run(live, "hydrate", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d", "nonsense", "--namespace", namespace)

    assert done.returncode == 5
    assert "not found" in done.stderr


def test_an_empty_namespace_is_no_fault(live: Instance) -> None:
    done = run(live, "query", "anything", "--namespace", "nobody-was-here")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing found" in done.stderr


def test_numbers_of_a_namespace(live: Instance, namespace: str) -> None:
    stats = answer(live, "stats", "--namespace", namespace)
    assert stats["memories"]["episode"] == {"active": 2}
    assert "episode active" in run(live, "stats", "--namespace", namespace).stdout
    assert namespace in {item["namespaceId"] for item in answer(live, "namespaces")["namespaces"]}
    assert namespace in run(live, "namespaces").stdout


def test_an_export_goes_in_again(live: Instance, namespace: str, tmp_path: Path, client: Client) -> None:
    done = run(live, "export", namespace)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["dedupeKey"] for line in lines] == ["a", "b"]
    assert lines[1]["metadata"] == {"n": 1}
    assert all("tenantId" not in json.dumps(line) for line in lines)
    assert [item["status"] for item in client.ingest(lines)["results"]] == ["deduplicated"] * 2

    packed = tmp_path / "home.ndjson.gz"
    assert run(live, "export", namespace, "--output", str(packed)).returncode == 0
    assert gzip.decompress(packed.read_bytes()).decode() == done.stdout
    assert (packed.stat().st_mode & 0o777, list(tmp_path.iterdir())) == (0o600, [packed])


def test_a_reader_that_has_seen_enough_ends_an_export(live: Instance, namespace: str) -> None:
    command = [sys.executable, "-m", "infinicon.cli", "export", namespace, "--data-dir", str(live.data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert "Traceback" not in child.stderr.read()


def test_a_running_server_is_well(live: Instance) -> None:
    done = run(live, "doctor")
    assert done.returncode == 0, done.stdout
    checks = {item["check"] for item in answer(live, "doctor")["findings"]}
    assert checks >= {"server", "key", "database", "schema", "broker", "workers", "encoder", "disk"}


def test_who_gets_no_answer_is_told_why(live: Instance, tmp_path: Path) -> None:
    nowhere = run(None, "doctor", "--data-dir", str(tmp_path))
    assert nowhere.returncode == 3
    assert "infinicon up" in nowhere.stderr
    silent = run(None, "namespaces", INFINICON_URL="http://127.0.0.1:9", INFINICON_API_KEY="inf_x")
    assert silent.returncode == 3
    wrong = run(None, "namespaces", INFINICON_URL=live.url, INFINICON_API_KEY="inf_CANARY")
    assert wrong.returncode == 4
    assert "CANARY" not in wrong.stderr + wrong.stdout
    unsaid = run(live, "query", "x")
    assert unsaid.returncode == 2
    assert "--namespace" in unsaid.stderr


def test_keys_from_the_command_line(live: Instance, namespace: str) -> None:
    done = run(live, "keys", "create", "--label", namespace, "--permission", "query", "--namespace", namespace)
    assert done.returncode == 0, done.stderr
    secret = done.stdout.strip()
    as_bot = {"INFINICON_URL": live.url, "INFINICON_API_KEY": secret}
    assert run(None, "query", "Rosa", "--refs", "--namespace", namespace, **as_bot).returncode == 0
    assert run(None, "query", "Rosa", "--refs", "--namespace", "other", **as_bot).returncode == 4
    assert run(None, "keys", "list", **as_bot).returncode == 4

    key = next(item for item in answer(live, "keys", "list")["keys"] if item.get("label") == namespace)
    rotated = answer(live, "keys", "rotate", key["keyId"], "--overlap", "10m")
    assert run(None, "namespaces", **as_bot).returncode == 0
    assert run(live, "keys", "revoke", key["keyId"]).returncode == 0
    assert run(None, "namespaces", **as_bot).returncode == 4
    assert run(None, "namespaces", **{**as_bot, "INFINICON_API_KEY": rotated["apiKey"]}).returncode == 0
    assert "revoked" in run(live, "keys", "list").stdout
    assert run(live, "keys", "revoke", "nonsense").returncode == 5


def test_the_first_key_of_a_tenant(live: Instance, client: Client) -> None:
    tenant = f"tenant-{client.scope['namespaceId']}"
    secret = answer(live, "keys", "create", "--tenant", tenant)["apiKey"]

    own = httpx.get(f"{live.url}/v0/key", headers={"Authorization": f"Bearer {secret}"}).json()
    assert own["tenantId"] == tenant
    assert "admin" in own["permissions"]
    as_tenant = {"INFINICON_URL": live.url, "INFINICON_API_KEY": secret}
    assert answer_of(run(None, "namespaces", "--json", **as_tenant)) == {"namespaces": []}
    assert run(live, "keys", "create", "--tenant", tenant, "--permission", "query").returncode == 2


def answer_of(done: subprocess.CompletedProcess[str]) -> object:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
