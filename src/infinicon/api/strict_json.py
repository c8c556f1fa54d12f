"""JSON as RFC 8259 has it, and no more: what Python's parser tolerates beyond it is refused, by rule and without the value."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from infinicon.api import limits
from infinicon.domain import Json
from infinicon.errors import InvalidRequest

BRACKETS = b"[]{}"
NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in BRACKETS)
AS_SQUARE = bytes.maketrans(b"{}", b"[]")


def loads(body: bytes) -> Json:
    """Parse one JSON text in UTF-8.

    Refused are invalid UTF-8, NaN and Infinity, numbers that overflow to infinity or have more than 4,300 digits, nesting deeper
    than `limits.JSON_DEPTH`, more than `limits.JSON_VALUES` values, and two members of the same name, of which parsers differ in the one
    that counts. Lone surrogates (\\ud83d) come through: what they spoil depends on where they stand.

    Raises:
        InvalidRequest: naming the rule.
    """
    check_structure(body)
    try:
        text = body.decode()
    except UnicodeDecodeError as fault:
        raise _refused("must be valid UTF-8", offset=fault.start) from None
    try:
        parsed: Json = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_distinct)
    except json.JSONDecodeError as fault:
        raise _refused("must be JSON", line=fault.lineno, column=fault.colno) from None
    except ValueError:  # int() refuses very long literals (CVE-2020-10735)
        raise _refused("must not hold a number of more than 4,300 digits") from None
    return parsed


def check_structure(body: bytes) -> None:
    """Count values and nesting before the parser, which recurses and allocates, sees the text.

    Linear: a few passes of C code, whatever the text. Strings are cut out first; then each pass removes the innermost pairs of
    brackets, so that the number of passes is the depth.
    """
    without_escapes = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if without_escapes.count(b'"') > 4 * limits.JSON_VALUES:  # every value and every name may be a string of two quotes
        raise _too_many_values()
    outside_strings = b"".join(without_escapes.split(b'"')[::2])
    if sum(map(outside_strings.count, (b",", b"[", b"{"))) > limits.JSON_VALUES:
        raise _too_many_values()
    brackets = outside_strings.translate(AS_SQUARE, NOT_BRACKETS)
    for _ in range(limits.JSON_DEPTH):
        if not brackets:
            return
        inner = brackets.replace(b"[]", b"")
        if len(inner) == len(brackets):
            raise _refused("must be JSON: its brackets do not match")
        brackets = inner
    if brackets:
        raise _refused(f"must not nest deeper than {limits.JSON_DEPTH} levels", limit=limits.JSON_DEPTH)


def dumps(value: Any) -> bytes:
    """Compact UTF-8. Raises UnicodeEncodeError where a string holds a lone surrogate, ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _distinct(members: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(members)
    if len(made) != len(members):
        raise _refused("must not hold two members of the same name in one object")
    return made


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise _refused("must not hold a number beyond the range of a double")
    return number


def _no_constant(_literal: str) -> NoReturn:
    raise _refused("must not hold NaN or Infinity")


def _too_many_values() -> InvalidRequest:
    return _refused(f"must not hold more than {limits.JSON_VALUES} values", limit=limits.JSON_VALUES)


def _refused(rule: str, **where: int) -> InvalidRequest:
    return InvalidRequest(f"the request body {rule}", details={"field": "body", "rule": rule, **where})
