"""Secrets that are known are nowhere: put in through every field, looked for in everything that a running Infinicon holds or says."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import redis
from psycopg.sql import SQL, Identifier

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from infinicon.embedded.bootstrap import superuser_url
from infinicon.embedded.valkey import SOCKET
from tests.e2e.api.requests import JSON, bulk_stands_still, ingest_indexed, note, send
from tests.e2e.cli.commands import answer, run
from tests.waiting import wait_until


def canary(kind: str) -> str:
    """Nobody else says this. With characters that regular expressions and JSON have a use for."""
    return f'{kind}-canary.*[{uuid4().hex}]\\"ß'


def known(live: Instance, http: httpx.Client, value: str) -> str:
    """The marker that stands for the value from now on."""
    reply = send(http, "/v0/secrets", {"tenantId": live.tenant_id, "value": value})
    assert reply.status_code == 200, reply.text
    assert value not in reply.text
    return f"[REDACTED:{reply.json()['secret']['secretId']}]"


def everywhere(value: str, **more: object) -> list[Wire]:
    """Episodes that say it in every field that an episode has."""
    fields: Wire = {
        "createdBy": {"id": f"ada {value}", "kind": "user"},
        "metadata": {f"name {value}": {"deep": [value]}, "speaker": f"Bob {value}"},
        "tags": [value, f"a {value} b"],
    }
    turns = [{"role": "user", "content": f"It is {value}. So it is."}, {f"key {value}": value}]
    return [
        note(f"The code is {value}. A heron stood at the lake.", dedupeKey=f"text {value}", **fields, **more),
        {
            "contentType": "application/json",
            "content": turns,
            "dedupeKey": f"json {value}",
            **fields,
            **more,
        },
    ]


def table_rows(live: Instance) -> Iterator[tuple[str, str]]:
    """Every row of every table as text, with the table's name."""
    with psycopg.connect(superuser_url(live.data_dir), autocommit=True) as connection:
        tables = connection.execute(
            """SELECT schemaname, tablename FROM pg_tables
               WHERE schemaname NOT IN ('information_schema') AND tablename NOT LIKE 'pg\\_toast%'"""
        ).fetchall()
        assert {"infinicon", "celery"} <= {schema for schema, _ in tables}
        for schema, table in tables:
            rows = connection.execute(SQL("SELECT t::text FROM {}.{} t").format(Identifier(schema), Identifier(table)))
            for (row,) in rows:
                yield f"{schema}.{table}", row


def broker_values(live: Instance) -> dict[str, bytes]:
    """Every key of the broker with its value, message bodies decoded."""
    password = json.loads((live.data_dir / "secrets.json").read_text())["broker_password"]
    found: dict[str, bytes] = {}
    with redis.Redis(unix_socket_path=str((live.data_dir / "run").resolve() / SOCKET), password=password) as client:
        for key in client.scan_iter():
            kind = client.type(key)
            value: Any
            if kind == b"list":
                value = client.lrange(key, 0, -1)
            elif kind == b"hash":
                value = [part for pair in client.hgetall(key).items() for part in pair]
            elif kind == b"zset":
                value = client.zrange(key, 0, -1)
            else:
                value = list(client.smembers(key)) if kind == b"set" else [client.get(key)]
            value = [part for part in value if part is not None]  # whose time was over meanwhile
            bodies = [body(one) for one in value]
            found[key.decode()] = key + b" ".join([*value, *bodies])
    return found


def body(message: bytes) -> bytes:
    """What a message carries, where it is one."""
    try:
        parsed = json.loads(message)
        parsed = parsed[0] if isinstance(parsed, list) else parsed
        return base64.b64decode(parsed["body"])
    except (ValueError, KeyError, TypeError):
        return b""


def logs(live: Instance) -> dict[str, str]:
    paths = [path for path in live.data_dir.rglob("*") if path.is_file() and "log" in path.name + path.parent.name]
    assert len(paths) > 5
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in paths}


def traces(live: Instance, value: str) -> set[str]:
    """Where it is found: by the part of it that every notation leaves as it is, or as bytes that Postgres shows."""
    needle = core(value)
    spellings = (needle, needle.encode().hex())
    found = {table for table, row in table_rows(live) if any(one in row for one in spellings)}
    found |= {f"log {name}" for name, text in logs(live).items() if needle in text}
    found |= {f"broker {key}" for key, said in broker_values(live).items() if needle.encode() in said}
    operator = (live.flower_user, live.flower_password)
    for page in ("/api/tasks", "/tasks", "/workers"):
        if needle in httpx.get(live.flower_url + page, auth=operator, timeout=30).text:
            found.add(f"flower {page}")
    return found


def core(value: str) -> str:
    return value.partition("[")[2].partition("]")[0]


def put_in(live: Instance, http: httpx.Client, client: Client, value: str) -> list[str]:
    """Say it in every field of every operation that writes; what was answered."""
    scope = {**client.scope, "filters": {value: value}}
    said = []

    def ask(path: str, sent: Wire, status: int = 200, headers: Mapping[str, str] = JSON) -> Wire:
        reply = http.post(path, content=json.dumps(sent), headers=headers)
        assert reply.status_code == status, reply.text
        said.append(reply.text)
        answered: Wire = reply.json()
        return answered

    key = {**JSON, "Idempotency-Key": uuid4().hex}
    request = {"scope": scope, "episodes": everywhere(value), "label": f"fill {value}", "consistency": "indexed"}
    first = ask("/v0/ingest", request, headers=key)
    assert {result["status"] for result in first["results"]} == {"created"}
    assert ask("/v0/ingest", request, headers=key)["jobId"] == first["jobId"]
    bulk = ask("/v0/ingest", {"scope": scope, "episodes": everywhere(value), "lane": "bulk", "label": value})
    assert {result["status"] for result in bulk["results"]} == {"deduplicated"}
    refused = ask("/v0/ingest", {"scope": scope, "episodes": [note(f"Other {value}", dedupeKey=f"text {value}")]})
    assert refused["results"][0]["status"] == "rejected"
    ask("/v0/ingest", {"scope": {**scope, "agentId": value}, "episodes": everywhere(value)}, 400)
    ask("/v0/ingest", {"scope": scope, "episodes": [note(f"{value} \0", tags=[value])]})
    ask("/v0/query", {"scope": scope, "query": f"What is {value}?", "limit": 1})
    ask("/v0/query", {"scope": client.scope, "query": f"What is {value}?", "limit": 1})
    ask("/v0/assemble-context", {"scope": client.scope, "task": f"Say {value}", "budget": {"maxTokens": 500}})
    ask("/v0/memory/put", {"memoryRef": client.scope["namespaceId"], "content": f"Put {value}", "tags": [value]})
    ref = first["results"][0]["ref"]
    ask("/v0/hydrate", {"scope": client.scope, "refs": [ref], "includeProvenance": True})
    ask("/v0/policy", {"scope": client.scope, "policy": {"auditSeconds": 600}})
    ask("/v0/tombstone", {"scope": client.scope, "refs": [ref], "reason": f"held {value}", "cascadePolicy": "none"})
    ask("/v0/erase", {"scope": scope, "reason": f"of {value}", "metadata": {"nobody": value}})
    events = {"tenantId": live.tenant_id, "namespaceId": str(client.scope["namespaceId"])}
    said.append(http.get("/v0/jobs", params=events).text)
    said.append(http.post("/v0/subscribe", json={"scope": client.scope}).text)
    return said


def test_a_known_secret_is_nowhere(live: Instance, http: httpx.Client, client: Client) -> None:
    value = canary("known")
    stands_for = known(live, http, value)
    said = put_in(live, http, client, value)
    assert traces(live, value) == set()
    assert [text for text in said if core(value) in text] == []
    assert any(stands_for in text for text in said)


def test_what_nobody_named_a_secret_is_found_by_the_same_search(
    live: Instance, http: httpx.Client, client: Client
) -> None:
    """The test above looks where it would be."""
    value = canary("plain")
    client.ingest(everywhere(value), label=value, consistency="indexed")
    found = traces(live, value)
    assert {"infinicon.memories", "infinicon.links", "infinicon.jobs"} <= found
    assert not {place for place in found if place.startswith(("log ", "broker ", "flower"))}


def test_messages_in_the_broker_carry_none(live: Instance, http: httpx.Client, client: Client) -> None:
    value = canary("message")
    known(live, http, value)
    with bulk_stands_still(live):
        reply = client.ingest(everywhere(value), lane="bulk", label=value)
        wait_until(
            lambda: client.job(reply["jobId"]).get("stage") == "embed", "it waits for the worker that stands still"
        )
        wait_until(lambda: any(b"infinicon.embed" in one for one in broker_values(live).values()), "a message waits")
        assert traces(live, value) == set()
    wait_until(lambda: client.job(reply["jobId"])["status"] == "completed", "the job is over")


def test_a_secret_that_becomes_known_later_is_taken_out(live: Instance, http: httpx.Client, client: Client) -> None:
    value = canary("later")
    episodes = everywhere(value)
    ref, _ = ingest_indexed(client, *episodes, label=f"fill {value}")
    client.post("/v0/memory/put", {"memoryRef": client.scope["namespaceId"], "content": f"Put {value}"})
    added = run_with(live, value + "\n", "secrets", "add")
    secret = added.strip()
    assert {one["secretId"] for one in answer(live, "secrets", "list")["secrets"]} >= {secret}
    job = answer(live, "redact", "--secret", secret, "--wait")
    assert (job["type"], job["status"]) == ("redact", "completed")

    assert traces(live, value) == set()
    object_ = client.hydrate([ref])[ref["id"]]
    assert object_["content"] == f"The code is [REDACTED:{secret}]. A heron stood at the lake."
    again = client.ingest(episodes)
    assert [result["status"] for result in again["results"]] == ["deduplicated"] * 2
    assert answer(live, "secrets", "remove", secret)["secret"]["secretId"] == secret
    assert run(live, "secrets", "remove", secret).returncode == 5
    assert run(live, "redact", "--secret", secret).returncode == 5


def run_with(live: Instance, text: str, *arguments: str) -> str:
    """What a command that must succeed prints, with `text` on its standard input."""
    done = run(live, *arguments, stdin=text)
    assert done.returncode == 0, done.stderr
    assert text.strip() not in done.stdout + done.stderr
    return done.stdout


def test_short_and_odd_secrets_are_refused_without_an_echo(live: Instance, http: httpx.Client) -> None:
    for value in ("CANARY7", "        ", "x" * 8193, "CANARY77\0", "[REDACTED:CANARY77]"):
        reply = send(http, "/v0/secrets", {"tenantId": live.tenant_id, "value": value})
        assert (reply.status_code, reply.json()["code"]) == (400, "invalid_request")
        assert value not in reply.text
