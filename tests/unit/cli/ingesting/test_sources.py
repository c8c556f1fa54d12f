"""What the command line names, and the bytes of it."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from infinicon.cli.faults import WrongUsage
from infinicon.cli.ingesting.sources import READING_FAULTS, Meter, Source, Unreadable, expand, opened


def made(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def names(*arguments: Path | str, name: str | None = None) -> list[str]:
    return [source.name for source in expand([str(argument) for argument in arguments], name)]


def content(path: Path, meter: Meter | None = None) -> bytes:
    (source,) = expand([str(path)])
    with opened(source, meter or Meter.of([source])) as found:
        return found.stream.read()


def test_a_file_is_called_by_its_base_name(tmp_path: Path) -> None:
    assert names(made(tmp_path / "deep" / "notes.md")) == ["notes.md"]


def test_files_of_the_same_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    given = [made(tmp_path / folder / "day.jsonl") for folder in ("a/x", "b/x", "c")]
    other = made(tmp_path / "c" / "else.jsonl")

    assert names(*given, other) == ["a/x/day.jsonl", "b/x/day.jsonl", "c/day.jsonl", "else.jsonl"]


def test_the_same_file_twice_is_one_source(tmp_path: Path) -> None:
    path = made(tmp_path / "notes.md")

    assert names(path, path, f"{tmp_path}//notes.md") == ["notes.md"]


def test_a_folder_gives_the_files_whose_names_tell_what_they_are(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.txt", "a/d.jsonl.gz", "a/e.png", ".hidden/f.md", ".g.md"):
        made(tmp_path / name)

    assert names(tmp_path) == ["b.md", "a/c.txt", "a/d.jsonl.gz"]


def test_the_order_is_that_of_the_command_line(tmp_path: Path) -> None:
    made(tmp_path / "folder" / "b.md")

    assert names(made(tmp_path / "z.md"), "-", tmp_path / "folder") == ["z.md", "stdin", "b.md"]


def test_a_name_is_given_to_one_source_and_goes_before_several(tmp_path: Path) -> None:
    one, two = made(tmp_path / "1.md"), made(tmp_path / "2.md")

    assert names(one, name="mine") == ["mine"]
    assert names(one, two, name="mine") == ["mine/1.md", "mine/2.md"]


def test_names_of_files_are_made_sayable(tmp_path: Path) -> None:
    assert names(made(tmp_path / "a\nb\udcff.md")) == ["a\ufffdb\ufffd.md"]


@pytest.mark.parametrize("arguments", [["missing.md"], ["-", "-"], ["nul\x00.md"], ["."], [""]])
def test_what_names_nothing_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(WrongUsage) as refused:
        expand(arguments)

    assert refused.value.remedy


def test_two_sources_must_not_share_a_name(tmp_path: Path) -> None:
    made(tmp_path / "folder" / "a.md")

    with pytest.raises(WrongUsage, match=r"two sources would be called a\.md"):
        names(tmp_path / "folder", made(tmp_path / "a.md"))


def test_gzip_is_unpacked_by_its_first_bytes_and_counted_as_it_lies_there(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    path = made(tmp_path / "no-suffix", packed)
    meter = Meter(len(packed), 1)

    assert content(path, meter) == b"one\ntwo\n"
    assert (meter.read, meter.number, meter.name) == (len(packed), 1, "no-suffix")


@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_no_content(tmp_path: Path, packed: bool) -> None:
    data = b"\xef\xbb\xbfone\n"

    assert content(made(tmp_path / "a", gzip.compress(data) if packed else data)) == b"one\n"


@pytest.mark.parametrize(
    ("data", "says"), [("x".encode("utf-16"), "UTF-16"), (b"PK\x03\x04...", "ZIP"), (b"BZh9", "bzip2")]
)
def test_other_encodings_and_archives_are_named(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        content(made(tmp_path / "a.txt", data))


@pytest.mark.parametrize("damage", [lambda whole: whole[:-12], lambda whole: whole[:40] + b"\xff" * 9 + whole[49:]])
def test_damaged_gzip_is_one_of_the_faults_of_reading(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    whole = gzip.compress(os.urandom(200) + b"\n")

    with pytest.raises(READING_FAULTS):
        content(made(tmp_path / "a.gz", damage(whole)))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a.md")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(Unreadable, match="Permission denied"):
        content(path)


def test_the_head_is_the_first_line_that_is_not_blank_and_nothing_is_lost(tmp_path: Path) -> None:
    (source,) = expand([str(made(tmp_path / "a", b"\n\n  first\nsecond"))])

    with opened(source, Meter.of([source])) as found:
        assert found.head.split(b"\n")[2] == b"  first"
        assert found.stream.read() == b"\n\n  first\nsecond"


def test_a_pipe_that_brings_single_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def feed() -> None:
        with path.open("wb", buffering=0) as pipe:
            for byte in gzip.compress(b"one\n"):
                pipe.write(bytes([byte]))

    feeding = threading.Thread(target=feed)
    feeding.start()
    (source,) = expand([str(path)])

    assert (source.size, Meter.of([source]).total) == (None, None)
    assert content(path) == b"one\n"
    feeding.join()


def test_lines_of_a_pipe_come_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", stdin)
        pipe.write(b"one\n")

        with opened(Source("stdin", None, None), Meter(None, 1)) as found:
            assert found.stream.readline() == b"one\n"
            pipe.write(b"two\n")
            assert found.stream.readline() == b"two\n"


def test_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    monkeypatch.setattr(sys, "stdin", closed)

    with pytest.raises(Unreadable), opened(Source("stdin", None, None), Meter(None, 1)):
        pass


@pytest.mark.parametrize(
    ("name", "suffix"), [("a.jsonl.gz", ".jsonl"), ("A.MD", ".md"), ("a.gz", ""), ("a", ""), (".md", "")]
)
def test_the_suffix_is_what_stands_before_gz(name: str, suffix: str) -> None:
    assert Source("", Path(name), 0).suffix == suffix
