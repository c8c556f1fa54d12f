"""The folder of the sockets: short enough, private, found again, and nobody else's is removed."""

from __future__ import annotations

import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinicon.embedded.sockets import close_socket_directory, open_socket_directory


@pytest.fixture
def short() -> Iterator[Path]:
    """A data directory whose path leaves room, whatever the temporary folder of the tests is called."""
    with tempfile.TemporaryDirectory(prefix="inf-") as name:
        yield Path(name)


def test_in_the_data_directory_where_there_is_room(short: Path) -> None:
    place = open_socket_directory(short, None)

    assert place == short / "run"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["x" * 120, "with a blank", "per%41cent", "comma,quote\"'"])
def test_elsewhere_where_it_would_not_do(short: Path, name: str) -> None:
    directory = short / name
    directory.mkdir()

    place = open_socket_directory(directory, None)

    assert place.parent == Path(tempfile.gettempdir())
    assert (directory / "run").readlink() == place
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / ".s.PGSQL.5432"))
    close_socket_directory(directory)
    assert not place.exists()
    assert list(directory.iterdir()) == []


def test_what_a_killed_run_left_goes_at_the_next_start(short: Path) -> None:
    directory = short / ("x" * 120)
    directory.mkdir()
    first = open_socket_directory(directory, None)
    (first / "stale.sock").touch()

    second = open_socket_directory(directory, None)

    assert not first.exists()
    assert list(second.iterdir()) == []
    close_socket_directory(directory)


def test_a_link_to_something_of_another_kind_is_only_unlinked(short: Path) -> None:
    precious = short / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (short / "run").symlink_to(precious)

    close_socket_directory(short)

    assert (precious / "file").exists()
    assert not (short / "run").is_symlink()
