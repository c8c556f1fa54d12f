"""The error tree, and that its docstring draws it truly."""

from __future__ import annotations

import re

import pytest

from infinicon import errors
from infinicon.errors import InfiniconError

DRAWN = re.compile(
    r"^[ │├└─]*(?P<name>[A-Z]\w+) +(?P<code>[a-z_]+) +(?P<retryable>yes|no) +(?P<status>\d{3})?", re.MULTILINE
)


def tree(root: type[InfiniconError]) -> list[type[InfiniconError]]:
    return [root, *(below for child in root.__subclasses__() for below in tree(child))]


PUBLIC = [kind for kind in tree(InfiniconError)[1:] if kind.__module__ == errors.__name__]


def test_the_docstring_draws_every_error_and_no_other() -> None:
    drawn = {match["name"]: match for match in DRAWN.finditer(errors.__doc__ or "")}

    assert sorted(drawn) == sorted(kind.__name__ for kind in PUBLIC)
    for kind in PUBLIC:
        match = drawn[kind.__name__]
        assert match["code"] == kind.code
        assert (match["retryable"] == "yes") is kind.retryable, kind.__name__
        assert match["status"] is None or int(match["status"]) == kind.http_status


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in PUBLIC]

    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("kind", PUBLIC)
def test_every_error_says_what_it_means(kind: type[InfiniconError]) -> None:
    assert kind.__doc__


def test_the_wire_shape_has_details_only_where_there_are_some() -> None:
    bare = errors.InvalidRequest("limit must be positive")
    detailed = errors.TooLarge("too many episodes", details={"limit": 5000})

    assert bare.to_wire() == {"code": "invalid_request", "message": "limit must be positive", "retryable": False}
    assert detailed.to_wire()["details"] == {"limit": 5000}


def test_details_are_a_copy() -> None:
    given: dict[str, errors.Detail] = {"field": "limit"}
    fault = errors.InvalidRequest("wrong", details=given)
    given["field"] = "other"

    assert fault.details == {"field": "limit"}
