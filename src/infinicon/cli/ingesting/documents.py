"""The values of a JSON document one after another, however large it is: elements of an array at the top, or under a known name.

Python's parser reads each element, so that strings and numbers are the same as in JSON lines, and a fault has a line number. A parser
by events would hold less of one element; but it would replace lone surrogates without a word, and numbers no one.
"""

from __future__ import annotations

import codecs
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from infinicon.cli.ingesting.lines import RECORD_BYTES, unreadable
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.sources import READING_FAULTS

MESSAGES = ("messages", "chat_messages")
STREAMED = (*MESSAGES, "episodes", "conversations")
"""Names under which an object at the top holds an array that may be as long as the file."""

CHUNK_BYTES = 256 * 1024
LONGEST_TOKEN = 16
"""A fault that lies further than this before the end of what was read is none of a value that goes on: `-Infinity`, `\\ud83d\\ude00`."""
ENDS_EARLY = "not JSON: it ends too early"

_BLANK = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Item:
    """One value. `array` numbers the arrays of the document from 1, and is 0 outside of any; `index` numbers the values there from 0.

    Where an object holds the array, `name` is the array's, and `header` has the members that stood before it.
    """

    place: Place
    value: Any
    array: int = 0
    index: int = 0
    name: str = ""
    header: Mapping[str, Any] = field(default_factory=dict)


class Malformed(Exception):
    """The document cannot be read on; the message is the rule that it breaks."""


def items(stream: io.BufferedIOBase, source: str, limit: int = RECORD_BYTES) -> Iterator[Item | Broken]:
    """The elements of all arrays at the top, and every other value there. After a fault nothing more can be told apart."""
    document = _Document(stream, source, limit)
    try:
        yield from document.items()
    except Malformed as fault:
        yield Broken(document.place(), str(fault))
    except READING_FAULTS as fault:
        yield Broken(document.place(), unreadable(fault))


def loads(text: str) -> Any:
    """One JSON value. Raises Malformed, with the column where there is one."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        raise Malformed(f"not JSON at column {fault.pos + 1}") from None
    except RecursionError:
        raise Malformed("nests too deeply") from None
    except ValueError:  # int() refuses very long literals
        raise Malformed("holds a number of more than 4,300 digits") from None


def _no_constant(_literal: str) -> NoReturn:
    raise Malformed("holds NaN or Infinity, which is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class _Document:
    def __init__(self, stream: io.BufferedIOBase, source: str, limit: int) -> None:
        self._stream = stream
        self._source = source
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._line = 1
        self._ended = False
        self._arrays = 0
        self._passed = 0

    def place(self) -> Place:
        return Place(self._source, self._line)

    def items(self) -> Iterator[Item]:
        outside = itertools.count()
        while (first := self._next()) != "":
            if first == "[":
                yield from self._array("", {})
            elif first == "{":
                yield from self._object(outside)
            else:
                yield Item(self.place(), self._value(), index=next(outside))

    def _array(self, name: str, header: Mapping[str, Any]) -> Iterator[Item]:
        self._arrays += 1
        array, index = self._arrays, 0
        self._skip("[")
        if self._next() == "]":
            self._skip("]")
            return
        while True:
            self._next()
            yield Item(self.place(), self._value(), array, index, name, header)
            index += 1
            if self._next() == "]":
                self._skip("]")
                return
            self._skip(",")

    def _object(self, outside: Iterator[int]) -> Iterator[Item]:
        """The elements of an array that may be long; the object itself where it has none."""
        place, begin = self.place(), self._passed
        members: dict[str, Any] = {}
        streamed = False
        self._skip("{")
        while self._next() != "}":
            if (character := self._next()) != '"':
                raise Malformed("not JSON: a name is missing" if character else ENDS_EARLY)
            name = self._value()
            self._next()
            self._skip(":")
            if self._next() == "[" and name in STREAMED:
                streamed = True
                yield from self._array(name, members)
            else:
                value = self._value()
                if not streamed:
                    members[name] = value
                    self._check_length(self._passed - begin)
            if self._next() != "}":
                self._skip(",")
                if self._next() == "}":
                    raise Malformed("not JSON: a comma too many")
        self._skip("}")
        if not streamed:
            yield Item(place, members, index=next(outside))

    def _value(self) -> Any:
        """The value that begins here. More is read, each time twice as much, for as long as it may go on."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as fault:
                goes_on = fault.msg.startswith("Unterminated string") or fault.pos > len(self._text) - LONGEST_TOKEN
                if not goes_on or self._ended:
                    self._pass(fault.pos)
                    raise Malformed("not JSON") from None
            except RecursionError:
                raise Malformed("nests too deeply") from None
            except ValueError:  # int() refuses very long literals
                raise Malformed("holds a number of more than 4,300 digits") from None
            else:
                if self._ended or not (isinstance(value, int | float) and self._may_go_on(end)):
                    self._pass(end)
                    return value
            self._check_length(len(self._text) - self._at)
            self._read_more()

    def _may_go_on(self, end: int) -> bool:
        """Whether a number that was read up to `end` may have more digits, or a fraction or exponent of which not all is read."""
        return end == len(self._text) or (
            len(self._text) - end < LONGEST_TOKEN and self._text[end] in ".eE+-0123456789"
        )

    def _next(self) -> str:
        """The next character that is not blank, not passed yet; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None  # the pattern matches nothing as well
            self._pass(blank.end())
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read_more()

    def _check_length(self, characters: int) -> None:
        if characters > self._limit:
            raise Malformed(f"an element is longer than {self._limit // 1024 // 1024} MiB")

    def _skip(self, character: str) -> None:
        if self._text[self._at : self._at + 1] != character:
            ended = self._ended and self._at == len(self._text)
            raise Malformed(ENDS_EARLY if ended else f"not JSON: {character} is missing")
        self._at += 1

    def _pass(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._passed += end - self._at
        self._at = end

    def _read_more(self) -> None:
        data = self._stream.read1(max(CHUNK_BYTES, len(self._text) - self._at))
        self._ended = not data
        try:
            more = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError:
            raise Malformed("not UTF-8") from None
        self._text = self._text[self._at :] + more
        self._at = 0
