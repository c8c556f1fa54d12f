"""Valkey as `infinicon up` starts it, through the URL that Celery gets."""

from __future__ import annotations

import psutil
import pytest
import redis
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from infinicon.embedded.supervisor import Supervisor
from infinicon.embedded.valkey import Valkey
from tests.e2e.embedded.conftest import Place


@pytest.fixture
def valkey(place: Place, supervisor: Supervisor) -> Valkey:
    server = Valkey(place.sockets, place.account, place.secrets.broker_password)
    supervisor.start(server.spec({}))
    supervisor.wait_until(server.is_ready, "Valkey", 30)
    return server


def test_kombu_gets_a_message_through(valkey: Valkey) -> None:
    with Connection(valkey.url) as connection:
        queue = connection.SimpleQueue("trial")
        queue.put({"id": 1})
        message = queue.get(timeout=5)
        message.ack()
        assert message.payload == {"id": 1}
        queue.close()


def test_nobody_gets_in_without_the_password(place: Place, valkey: Valkey) -> None:
    wrong = Valkey(place.sockets, place.account, "wrong")

    assert not wrong.is_ready()
    with Connection(wrong.url) as connection, pytest.raises(OperationalError):
        connection.ensure_connection(max_retries=1, timeout=2)


def test_it_keeps_nothing_and_evicts_nothing(place: Place, valkey: Valkey, supervisor: Supervisor) -> None:
    with redis.Redis(unix_socket_path=str(valkey.path), password=place.secrets.broker_password) as client:
        settings = client.config_get("maxmemory*", "save", "appendonly", "port", "unixsocketperm")
    pid = supervisor.children[0].pid

    assert settings["maxmemory"] == str(512 * 1024 * 1024)
    assert settings["maxmemory-policy"] == "noeviction"
    assert (settings["save"], settings["appendonly"], settings["port"]) == ("", "no", "0")
    assert settings["unixsocketperm"] == "700"
    assert not psutil.Process(pid).net_connections("inet")


def test_the_password_is_neither_in_the_argument_list_nor_in_a_file(
    place: Place, valkey: Valkey, supervisor: Supervisor
) -> None:
    password = place.secrets.broker_password
    process = psutil.Process(supervisor.children[0].pid)

    assert password not in " ".join(process.cmdline())
    assert password not in str(process.environ())
    files = [path for path in place.directory.rglob("*") if path.is_file() and path.name != "secrets.json"]
    assert files
    assert not [path for path in files if password in path.read_text(errors="replace")]


def test_it_comes_back_after_a_kill(valkey: Valkey, supervisor: Supervisor) -> None:
    child = supervisor.children[0]
    first = child.pid
    psutil.Process(first).kill()

    supervisor.wait_until(lambda: child.pid not in (first, None) and valkey.is_ready(), "Valkey again", 30)
