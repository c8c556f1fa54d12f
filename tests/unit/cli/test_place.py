"""The lock, the port and dev.json of `infinicon up`."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from infinicon.cli.place import Dev, flower_port, free_port, held, url_of, withdraw
from infinicon.errors import Unavailable


def test_a_second_holder_is_refused_by_the_first_ones_number(tmp_path: Path) -> None:
    with held(tmp_path):
        with pytest.raises(Unavailable, match=rf"already running .*\(process {os.getpid()}\)"), held(tmp_path):
            pytest.fail("two held it")
        assert (tmp_path / "up.lock").read_text() == f"{os.getpid()}\n"
    with held(tmp_path):
        pass


def test_a_stale_number_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "up.lock").write_text(f"{os.getppid()} and more\n")

    with held(tmp_path):
        assert (tmp_path / "up.lock").read_text() == f"{os.getpid()}\n"


def test_a_busy_port_is_refused() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]

        with pytest.raises(Unavailable, match=f"port {port} on 127.0.0.1 is in use"):
            free_port("127.0.0.1", port)
        with pytest.raises(Unavailable, match="is in use"):
            free_port("0.0.0.0", port)
    assert free_port("127.0.0.1", port) == port


def test_port_zero_is_a_free_one() -> None:
    assert free_port("127.0.0.1", 0) > 0


def test_flower_keeps_its_port(tmp_path: Path) -> None:
    port = flower_port(tmp_path, "127.0.0.1")

    assert flower_port(tmp_path, "127.0.0.1") == port
    assert stat.S_IMODE((tmp_path / "flower.port").stat().st_mode) == 0o600


def test_flower_takes_another_port_where_its_own_is_taken(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        (tmp_path / "flower.port").write_text(str(taken))

        port = flower_port(tmp_path, "127.0.0.1")

    assert port != taken
    assert (tmp_path / "flower.port").read_text() == f"{port}\n"


@pytest.mark.parametrize("content", ["", "port", "99999", "-1", "9" * 30, "é"])
def test_a_damaged_port_file_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "flower.port").write_text(content)

    port = flower_port(tmp_path, "127.0.0.1")

    assert 0 < port <= 65535
    assert (tmp_path / "flower.port").read_text() == f"{port}\n"


@pytest.mark.parametrize("host", ["203.0.113.7", "2001:db8::7"])
def test_an_address_that_is_not_ours_is_refused(host: str) -> None:
    with pytest.raises(Unavailable, match="cannot be used"):
        free_port(host, 0)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("10.0.0.5", "http://10.0.0.5:80"),
        ("::", "http://[::1]:80"),
    ],
)
def test_where_a_client_on_this_machine_goes(host: str, url: str) -> None:
    assert url_of(host, 80) == url


def test_dev_file(tmp_path: Path) -> None:
    Dev("http://a", "inf_k", "default", "http://f", "operator", "p").publish(tmp_path)

    path = tmp_path / "dev.json"
    assert json.loads(path.read_text()) == {
        "url": "http://a",
        "apiKey": "inf_k",
        "tenantId": "default",
        "flowerUrl": "http://f",
        "flowerUser": "operator",
        "flowerPassword": "p",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    withdraw(tmp_path)
    withdraw(tmp_path)
    assert not path.exists()
