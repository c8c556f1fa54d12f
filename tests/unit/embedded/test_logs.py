"""Logs do not fill the disk, and a child goes on writing while its log is cut."""

from __future__ import annotations

import stat
from pathlib import Path

from infinicon.embedded.logs import keep_small, last_lines, open_log


def test_a_small_log_stays(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_bytes(b"x" * 10)

    assert not keep_small(log, limit=10)
    assert log.stat().st_size == 10


def test_a_big_log_moves_and_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    older = tmp_path / "api.log.1"
    older.write_bytes(b"from before")
    with open_log(log) as writer:
        writer.write(b"first\n" + b"x" * 20)

        assert keep_small(log, limit=10)
        writer.write(b"second\n")

    assert older.read_bytes() == b"x" * 10
    assert log.read_bytes() == b"second\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_no_log_is_no_fault(tmp_path: Path) -> None:
    assert not keep_small(tmp_path / "none.log")
    assert last_lines(tmp_path / "none.log") == []


def test_last_lines_are_the_end(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_bytes(b"\n".join(b"line %d" % number for number in range(1000)) + b"\nbroken \xff\n")

    assert last_lines(log, count=2) == ["line 999", "broken \ufffd"]


def test_is_emptied_also_where_there_is_no_room_for_the_copy(tmp_path: Path) -> None:
    """On a full disk the copy fails; the supervisor must not, and the log is what can give space back."""
    log = tmp_path / "child.log"
    log.write_bytes(b"x" * 100)
    (tmp_path / "child.log.1").mkdir()

    assert keep_small(log, limit=10)
    assert log.stat().st_size == 0
