"""Which format a source has."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from infinicon.cli.ingesting.formats import Format, Reader, json_kind
from infinicon.cli.ingesting.mapping import FieldMap
from infinicon.cli.ingesting.places import Broken
from infinicon.cli.ingesting.shaping import Prepared
from infinicon.cli.ingesting.sources import Meter, expand

EPISODE = '{"content": "x"}'
MESSAGE = '{"role": "user", "content": "x"}'


def read(path: Path, data: str | bytes, reader: Reader = Reader()) -> list[Any]:  # noqa: B008 - frozen
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    (source,) = expand([str(path)])
    return list(reader.episodes(source, Meter.of([source])))


def episodes(path: Path, data: str | bytes, reader: Reader = Reader()) -> list[Any]:  # noqa: B008 - frozen
    found = read(path, data, reader)
    assert all(isinstance(item, Prepared) for item in found), found
    return [json.loads(item.wire) for item in found]


@pytest.mark.parametrize(
    ("name", "data", "number", "type_"),
    [
        ("a.jsonl", f"{EPISODE}\n{EPISODE}\n", 2, "text/plain"),
        ("a.ndjson", f"{EPISODE}\r\n\r\n{EPISODE}", 2, "text/plain"),
        ("a.jsonl", f"{MESSAGE}\n{EPISODE}\n", 2, "text/markdown"),
        ("a.json", f"[{MESSAGE}, {MESSAGE}]", 2, "text/markdown"),
        ("a.json", EPISODE, 1, "text/plain"),
        ("a.json", f"{EPISODE}\n{EPISODE}", 2, "text/plain"),
        ("a.md", "# Head\n\nText.", 1, "text/markdown"),
        ("a.txt", EPISODE, 1, "text/plain"),
        ("a.csv", "a,b\nc,d", 1, "text/csv"),
        ("a.log", "some text", 1, "text/plain"),
        ("a", "some text", 1, "text/plain"),
        ("a", f"{EPISODE}\n{EPISODE}\n", 2, "text/plain"),
        ("a", f"[\n{EPISODE},\n{EPISODE}]", 2, "text/plain"),
        ("a", '{\n"content": "x"\n}', 1, "text/plain"),
        ("a", "{no json}", 1, "text/plain"),
        ("a", "[x] a list\n[ ] of tasks", 1, "text/plain"),
        ("a.jsonl.gz", gzip.compress(f"{EPISODE}\n".encode()), 1, "text/plain"),
        ("a.md.gz", gzip.compress(b"Text."), 1, "text/markdown"),
        ("a.jsonl", b"\xef\xbb\xbf" + EPISODE.encode(), 1, "text/plain"),
    ],
)
def test_a_format_is_told_by_name_or_by_beginning(
    tmp_path: Path, name: str, data: str | bytes, number: int, type_: str
) -> None:
    found = episodes(tmp_path / name, data)

    assert (len(found), found[0]["contentType"]) == (number, type_)


@pytest.mark.parametrize(
    ("name", "format_", "data", "type_"),
    [
        ("a.md", Format.text, "x", "text/markdown"),
        ("a.json", Format.text, EPISODE, "text/plain"),
        ("a.html", Format.text, "<p>", "text/plain"),
        ("a.txt", Format.markdown, "x", "text/markdown"),
        ("a.txt", Format.ndjson, EPISODE, "text/plain"),
        ("a.jsonl", Format.ndjson, MESSAGE, "text/plain"),
        ("a.txt", Format.chat, f"{MESSAGE}\n", "text/markdown"),
        ("a.txt", Format.chat, f"[{MESSAGE}]", "text/markdown"),
        ("a.jsonl", Format.chat, MESSAGE, "text/markdown"),
    ],
)
def test_what_is_said_goes_before(tmp_path: Path, name: str, format_: Format, data: str, type_: str) -> None:
    (found,) = episodes(tmp_path / name, data, Reader(format_))

    assert found["contentType"] == type_


def test_a_map_means_json_whatever_the_name(tmp_path: Path) -> None:
    reader = Reader(fields=FieldMap.parse("content=t"))

    assert [found["content"] for found in episodes(tmp_path / "a.txt", '{"t": "x"}\n{"t": "y"}\n', reader)] == [
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.html", "<p>", "convert it"),
        ("a.pdf", "%PDF", "convert it"),
        ("a.txt", "x".encode("utf-16"), "UTF-16"),
        ("a.bin", b"a\x00b", "NUL"),
        ("a.jsonl", b"PK\x03\x04", "ZIP"),
        ("a.gz", gzip.compress(b"some text, long enough")[:-10], "ends too early"),
        ("a.jsonl.gz", b"\x1f\x8bnonsense", "damaged"),
        ("a.jsonl", '{"content": 1e999}', "range of a double"),
        ("a.jsonl", '{"content": NaN}', "NaN"),
        ("a.jsonl", '{"content": ' + "[" * 100_000, "nests too deeply"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, data: str | bytes, says: str) -> None:
    (found,) = read(tmp_path / name, data)

    assert isinstance(found, Broken)
    assert says in found.reason
    assert found.place.source == name


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.md", "a"])
def test_an_empty_file_has_nothing(tmp_path: Path, name: str) -> None:
    assert read(tmp_path / name, "") == []


def test_the_same_file_gives_the_same_keys(tmp_path: Path) -> None:
    data = f"{EPISODE}\n{EPISODE}\n"
    first, again = (episodes(tmp_path / "a.jsonl", data) for _ in range(2))

    assert first == again
    assert first[0]["dedupeKey"] != first[1]["dedupeKey"]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("\n {}\n", "lines"),
        ('{"a": 1}', "lines"),
        ('{"a": 1}\n{', "lines"),
        ('{"a":\n', "document"),
        ("{\n", "document"),
        ("[\n", "document"),
        ('[{"a"', "document"),
        ("[]", "document"),
        ("{a}", None),
        ("[link](x)", None),
        ("", None),
        ("x", None),
    ],
)
def test_json_is_told_by_how_it_begins(head: str, kind: str | None) -> None:
    assert json_kind(head.encode()) == kind
