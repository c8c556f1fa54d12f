from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.api import limits, strict_json
from infinicon.errors import InvalidRequest

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
)


def rule_of(body: bytes) -> object:
    with pytest.raises(InvalidRequest) as caught:
        strict_json.loads(body)
    return caught.value.details["rule"]


@given(JSON)
def test_reads_what_it_writes(value: object) -> None:
    assert strict_json.loads(strict_json.dumps(value)) == value


@given(JSON)
def test_reads_escapes_like_any_parser(value: object) -> None:
    assert strict_json.loads(json.dumps(value, indent=1).encode()) == value


@pytest.mark.parametrize("body", [b'{"a":1,"a":1}', b'[{"b":{"a":1,"\\u0061":2}}]', b'{"":1,"":2}'])
def test_refuses_two_members_of_one_name(body: bytes) -> None:
    assert rule_of(body) == "must not hold two members of the same name in one object"


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
def test_refuses_literals_that_json_does_not_have(literal: bytes) -> None:
    assert rule_of(b'{"limit":%s}' % literal) == "must not hold NaN or Infinity"


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"1" * 400 + b".5"])
def test_refuses_numbers_that_overflow(number: bytes) -> None:
    assert rule_of(b"[%s]" % number) == "must not hold a number beyond the range of a double"


def test_takes_large_integers_as_they_are_and_refuses_absurd_ones() -> None:
    assert strict_json.loads(b"9" * 4300) == int("9" * 4300)
    assert rule_of(b"9" * 4301) == "must not hold a number of more than 4,300 digits"


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_limited_exactly(opened: bytes, closed: bytes) -> None:
    deepest = limits.JSON_DEPTH

    strict_json.loads(opened * deepest + b"1" + closed * deepest)
    for depth in (deepest + 1, 900, 20_000, 1_000_000):
        assert rule_of(opened * depth + b"1" + closed * depth) == "must not nest deeper than 64 levels"


@pytest.mark.parametrize("value", [b"[]", b"0", b'""', b'{"a":""}'])
def test_the_number_of_values_is_limited(value: bytes) -> None:
    strict_json.loads(b"[" + b",".join([value] * 200_000) + b"]")

    crowd = b"[" + b",".join([value] * (limits.JSON_VALUES + 1)) + b"]"
    assert rule_of(crowd) == "must not hold more than 1000000 values"


def test_commas_within_strings_are_text() -> None:
    text = '[{",' * limits.JSON_VALUES

    assert strict_json.loads(json.dumps([text]).encode()) == [text]


def test_brackets_within_strings_are_text() -> None:
    text = "[{" * 500 + '\\"' + "]" * 70

    assert strict_json.loads(json.dumps({"content": text, "\\": "\\"}).encode()) == {"content": text, "\\": "\\"}


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"]" * 100_000 + b"[" * 100_000, b'{"a":[}', b'["', b"", b"{}{}", b"\\[" * 99]
)
def test_refuses_what_is_not_json_without_recursing(body: bytes) -> None:
    assert str(rule_of(body)).startswith("must be JSON")


@pytest.mark.parametrize("body", [b'"\xff"', b'"\xed\xa0\x80"', '"é"'.encode("utf-16"), '"é"'.encode("latin-1")])
def test_refuses_what_is_not_utf_8(body: bytes) -> None:
    assert rule_of(body) == "must be valid UTF-8"


def test_lone_surrogates_come_through_and_cannot_be_written() -> None:
    value = strict_json.loads(b'"tail \\ud83d end"')

    assert value == "tail \ud83d end"
    with pytest.raises(UnicodeEncodeError):
        strict_json.dumps(value)


def test_a_refusal_does_not_repeat_the_body() -> None:
    for body in (b"CANARY-77", b'{"a": CANARY-77}', b'["CANARY-77\x01"]', b'["\\CANARY-77"]', b"[CANARY-77"):
        with pytest.raises(InvalidRequest) as caught:
            strict_json.loads(body)
        assert "CANARY" not in json.dumps(caught.value.to_wire())
