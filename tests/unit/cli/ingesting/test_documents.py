"""The values of one large JSON document."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.cli.ingesting import documents
from infinicon.cli.ingesting.documents import Item, Malformed, items, loads
from infinicon.cli.ingesting.places import Broken

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Drops(io.BytesIO):
    """Brings a few bytes at a time."""

    size = 3

    def read1(self, _size: int | None = -1, /) -> bytes:
        return self.read(self.size)


def found(text: str | bytes, limit: int = 1024 * 1024) -> list[Item | Broken]:
    return list(items(Drops(text if isinstance(text, bytes) else text.encode()), "a.json", limit))


def values(text: str) -> list[Any]:
    everything = found(text)
    assert not [item for item in everything if isinstance(item, Broken)]
    return [item.value for item in everything if isinstance(item, Item)]


def fault(text: str | bytes, limit: int = 1024 * 1024) -> Broken:
    last = found(text, limit)[-1]
    assert isinstance(last, Broken)
    return last


@given(st.lists(JSON), st.sampled_from([None, 1]))
def test_an_array_gives_its_elements_however_it_is_written(elements: list[Any], indent: int | None) -> None:
    text = json.dumps(elements, indent=indent)

    assert json.dumps(values(text)) == json.dumps(elements)


@given(st.lists(st.text()), st.integers(1, 7))
def test_where_the_bytes_are_cut_changes_nothing(elements: list[str], size: int) -> None:
    stream = Drops(json.dumps(elements, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    stream.size = size

    try:
        expected: list[str] | None = json.loads(stream.getvalue().decode())
    except UnicodeDecodeError:
        expected = None
    assert expected is None or [item.value for item in items(stream, "a") if isinstance(item, Item)] == expected


def test_elements_know_their_lines_and_places() -> None:
    one, two, three = found('[\n {"a": 1},\n\n {"a":\n  2}\n]\n{"b": 3}')

    assert isinstance(one, Item)
    assert isinstance(two, Item)
    assert isinstance(three, Item)
    assert [(item.place.line, item.array, item.index) for item in (one, two, three)] == [
        (2, 1, 0),
        (4, 1, 1),
        (7, 0, 0),
    ]


def test_values_outside_of_arrays_are_told_apart() -> None:
    assert [item.index for item in found('{"a": 1} {"a": 1}\n5 "x"') if isinstance(item, Item)] == [0, 1, 2, 3]


def test_an_array_under_a_known_name_is_streamed_with_what_stood_before() -> None:
    one, two = found('{"id": "c1", "messages": [{"role": "user"}, 2], "late": 1}')

    assert isinstance(one, Item)
    assert isinstance(two, Item)
    assert (one.name, one.header, one.value) == ("messages", {"id": "c1"}, {"role": "user"})
    assert (two.array, two.index, two.value) == (1, 1, 2)


def test_other_objects_come_whole() -> None:
    assert values('{"content": [1, {"messages": [2]}], "messages": 3}') == [
        {"content": [1, {"messages": [2]}], "messages": 3}
    ]


@pytest.mark.parametrize("text", ["", " \n ", "[]", '{"messages": []}'])
def test_nothing_in_it(text: str) -> None:
    assert found(text) == []


def test_numbers_and_surrogates_are_as_in_lines() -> None:
    big = "123456789012345678901234567890"

    assert values(f'[{big}, "\\ud83d", "\\ud83d\\ude00", 1.5e300]') == [int(big), "\ud83d", "\U0001f600", 1.5e300]


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ('[1,\n{"a" 1}]', "not JSON", 2),
        ("[1,\n2", "ends too early", 2),
        ('[1,\n"x', "not JSON", 2),
        ("[1,\n,2]", "not JSON", 2),
        ("[1\n2]", "not JSON: , is missing", 2),
        ("[1,]", "not JSON", 1),
        ("]", "not JSON", 1),
        ('{"a": 1,}', "a comma too many", 1),
        ("{1: 2}", "a name is missing", 1),
        ('{"a"; 2}', "not JSON", 1),
        ('{"a": 1', "ends too early", 1),
        ("{", "ends too early", 1),
        ('{"a": 1,', "ends too early", 1),
        ("[NaN]", "NaN", 1),
        ("[-Infinity]", "NaN or Infinity", 1),
        ("[" + "[" * 100_000, "nests too deeply", 1),
        ("[" + "1" * 5000 + "]", "4,300 digits", 1),
    ],
)
def test_a_fault_names_line_and_rule(text: str, reason: str, line: int) -> None:
    broken = fault(text)

    assert reason in broken.reason
    assert (broken.place.source, broken.place.line) == ("a.json", line)


def test_what_came_before_a_fault_stays() -> None:
    assert [item.value for item in found("[1, 2, x]") if isinstance(item, Item)] == [1, 2]


def test_what_is_not_utf_8_ends_it() -> None:
    assert fault(b'["a", "\xff"]').reason == "not UTF-8"


@pytest.mark.parametrize("text", ['["' + "x" * 3000 + '"]', '{"a": "' + "x" * 600 + '", "b": "' + "x" * 600 + '"}'])
def test_an_element_over_the_limit_ends_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(documents, "CHUNK_BYTES", 64)

    assert "longer than" in fault(text, 1000).reason


@pytest.mark.parametrize("secret", ['{"SECRET": SECRET}', '["SECRET', '["SECRET" SECRET]'])
def test_no_fault_repeats_what_it_found(secret: str) -> None:
    assert "SECRET" not in str(fault(secret))


@pytest.mark.parametrize("text", ["{", "NaN", "[" * 100_000, "1" * 5000, '{"SECRET" 1}'])
def test_a_line_that_is_not_json(text: str) -> None:
    with pytest.raises(Malformed) as fault:
        loads(text)

    assert "SECRET" not in str(fault.value)
