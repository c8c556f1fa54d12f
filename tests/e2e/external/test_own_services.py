"""The same data through `infinicon up` and through separately started processes beside other servers: the same answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from infinicon.tasks import names
from tests.e2e.external.conftest import BESIDE, Own
from tests.e2e.external.servers import rabbitmq_says
from tests.waiting import wait_until

QUESTIONS = (
    "Who reported the problem?",
    "main B bus undervolt",
    "What is venting out into space?",
    "oxygen pressure in the cryo tanks",
    "Which fuel cells are left?",
)

beside_each = pytest.mark.parametrize("own", ["redis", "rediss", "amqp"], indirect=True, scope="session")
with_the_bulk_lane = pytest.mark.parametrize("own", ["redis", "amqp"], indirect=True, scope="session")
with_rabbitmq = pytest.mark.parametrize("own", ["amqp"], indirect=True, scope="session")

FIRST, LAST = 2395, 2695  # around "we've had a problem"


@pytest.fixture
def client(own: Own) -> Iterator[Client]:
    with Client(own.instance, f"own-{uuid4()}") as open_client:
        yield open_client


def answers(client: Client) -> list[list[tuple[str, float]]]:
    """For each question the contents that were found, in order, with their scores."""
    found = []
    for question in QUESTIONS:
        hits = client.query(question, 10)
        objects = client.hydrate([hit["ref"] for hit in hits])
        found.append([(objects[hit["ref"]["id"]]["content"], hit["score"]) for hit in hits])
    return found


def ingest_transcript(client: Client) -> Wire:
    """300 utterances in the bulk lane, to the end."""
    episodes = transcript.read(transcript.SAMPLE)[FIRST:LAST]
    job_id = client.ingest(episodes, lane="bulk")["jobId"]
    wait_until(lambda: client.job(job_id)["status"] in transcript.FINAL, "all are indexed", within=180, every=0.5)
    return client.job(job_id)


@pytest.fixture(scope="session")
def wanted(live: Instance) -> list[list[tuple[str, float]]]:
    """What `infinicon up` answers."""
    with Client(live, f"up-{uuid4()}") as client:
        assert ingest_transcript(client)["status"] == "completed"
        return answers(client)


@with_the_bulk_lane
def test_the_same_data_gives_the_same_answers(own: Own, client: Client, wanted: list[list[tuple[str, float]]]) -> None:
    job = ingest_transcript(client)

    assert (job["status"], job["progress"]["done"]) == ("completed", LAST - FIRST)
    found = answers(client)
    assert [[content for content, _ in hits] for hits in found] == [[content for content, _ in hits] for hits in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-3)
    assert all(found)


@beside_each
def test_a_conversation_goes_through_its_own_lane(own: Own, client: Client) -> None:
    client.ingest([{"contentType": "text/plain", "content": "Rosa keeps bees in Turin."}], consistency="indexed")

    assert "Rosa keeps bees in Turin." in [content for content, _ in _found(client, "Who keeps bees?")]


def _found(client: Client, question: str) -> list[tuple[str, float]]:
    hits = client.query(question, 5)
    objects = client.hydrate([hit["ref"] for hit in hits])
    return [(objects[hit["ref"]["id"]]["content"], hit["score"]) for hit in hits]


@beside_each
def test_flower_sees_workers_and_stages(own: Own, client: Client) -> None:
    client.ingest([{"contentType": "text/plain", "content": "A word for Flower."}], consistency="indexed")

    operator = (own.instance.flower_user, own.instance.flower_password)

    def page(path: str) -> httpx.Response:
        return httpx.get(own.instance.flower_url + path, auth=operator, timeout=30)

    def online() -> set[str]:
        return {row["hostname"].partition("@")[0] for row in page("/workers?json=1").json()["data"] if row["status"]}

    kinds = {name.removeprefix("worker-") for name in BESIDE[own.kind] if name.startswith("worker-")}
    wait_until(lambda: online() == kinds, "Flower knows the workers", within=120)
    wait_until(
        lambda: {task["name"] for task in own.instance.flower("/api/tasks").values()} == set(names.STAGES.values()),
        "Flower knows the stages",
    )
    queues = page("/broker")
    assert queues.status_code == 200
    # Of RabbitMQ's queues Flower would ask its management plug-in, which is not there.
    assert own.kind == "amqp" or all(f"<td>{name}</td>" in queues.text for name in names.QUEUES)
    assert "p@ss" not in queues.text + page("/workers").text


@beside_each
def test_a_broker_that_is_down_loses_nothing_and_is_found_again(own: Own, client: Client) -> None:
    own.broker.server.stop()
    try:
        reply = client.ingest([{"contentType": "text/plain", "content": "Written while the broker was down."}])
        assert [result["status"] for result in reply["results"]] == ["created"]
        assert client.query("anything", 3) == []
    finally:
        own.broker.server.start()

    wait_until(
        lambda: client.job(reply["jobId"])["status"] == "completed", "it is indexed once the broker is back", within=90
    )
    for name in ("beat", "worker-cpu"):
        own.deployment.wait_until_healthy(name)


PUBLISH_TWICE = """
from kombu.exceptions import OperationalError
from infinicon.settings import settings
from infinicon.tasks import names
from infinicon.tasks.app import app, configure
configure(settings())
for _ in range(2):
    try:
        app.send_task(names.DISPATCH, queue=names.CONTROL, expires=10.0, ignore_result=True)
        print("sent", flush=True)
    except OperationalError:
        print("given up", flush=True)
    input()
"""


@with_the_bulk_lane
def test_a_broker_that_hangs_is_given_up(own: Own, client: Client) -> None:
    """One that is connected and says nothing: without a bound of ours, a publication would wait for ever."""
    command = [sys.executable, "-c", PUBLISH_TWICE]
    with subprocess.Popen(
        command, env=own.deployment.environment("beat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as publisher:
        assert publisher.stdin is not None
        assert publisher.stdout is not None
        assert publisher.stdout.readline() == "sent\n"
        own.broker.server.freeze()
        try:
            told, _ = publisher.communicate("\n\n", timeout=60)
        finally:
            own.broker.server.thaw()
            publisher.kill()

    assert told == "given up\n"
    client.ingest([{"contentType": "text/plain", "content": "Said after it."}], consistency="indexed")


@with_rabbitmq
def test_queues_of_rabbitmq_survive_it_and_hold_nothing_back(own: Own, client: Client) -> None:
    """Messages are acknowledged when they are taken, so that no time-out of the broker ever meets a long stage."""
    columns = ("name", "durable", "messages_unacknowledged")
    listed = rabbitmq_says(own.broker, "list_queues", "-p", "memory", "--no-table-headers", *columns)
    queues = {line.split("\t")[0]: line.split("\t")[1:] for line in listed.splitlines()}

    assert set(names.QUEUES) <= set(queues)
    assert {queues[name][0] for name in names.QUEUES} == {"true"}
    job_id = client.ingest(transcript.read(transcript.SAMPLE)[:600], lane="bulk")["jobId"]
    wait_until(lambda: client.job(job_id)["progress"].get("embed", 0) > 0, "a batch is being embedded", every=0.02)
    unacknowledged = rabbitmq_says(
        own.broker, "list_queues", "-p", "memory", "--no-table-headers", "messages_unacknowledged"
    )
    assert set(unacknowledged.split()) == {"0"}
    wait_until(lambda: client.job(job_id)["status"] == "completed", "all are indexed", within=120)


@beside_each
def test_no_log_holds_a_password_or_what_was_written(own: Own) -> None:
    """The last of this broker's tests."""
    secrets = [(own.deployment.secrets / name).read_text().strip() for name in ("master_key", "flower_password")]
    for log in own.instance.data_dir.glob("*.log"):
        text = log.read_text(errors="replace")
        for secret in [*secrets, "p@ss", "p%40ss", own.instance.api_key, "keeps bees"]:
            assert secret not in text, log.name
