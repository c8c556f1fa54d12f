"""verify-erasure: is a text that was deleted really gone?

It is looked for in every column of every table of ours and of Celery's results, for all tenants, after a VACUUM, and in the files of the
database, where dead versions of rows leave bytes. What could not be looked at is said, and nothing is proved then. What it cannot reach
at all: backups, replicas, the write-ahead log, and what others have copied.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from infinicon.errors import InvalidRequest
from infinicon.operations import fragments
from infinicon.operations.chunks import joints
from infinicon.operations.fragments import Fragments, form, raw_form, readings
from infinicon.operations.matching import Matcher
from infinicon.store import verification
from infinicon.store.verification import Place

AT_ONCE = 4 << 20
"""Bytes of values that are searched together."""

MOST = 1_000
"""Traces that are named."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Rows of one name in which the text, or a piece of it, was found. `kind` and `status` where the name is a memory's."""

    place: Place
    whole: bool
    rows: int
    kind: str | None
    status: str | None


@dataclass(slots=True)
class Report:
    """`files`: relations in whose files bytes of it lie. `short`: fragments too short to be looked for by themselves.
    `unread`: what could not be looked at. `log`: files of the write-ahead log with bytes of it, which count for nothing."""

    traces: list[Trace] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    short: int = 0
    unread: list[str] = field(default_factory=list)
    log: int = 0
    tables: int = 0

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not (self.traces or self.files)

    @property
    def proven(self) -> bool:
        """Nothing was found, and everything was looked at."""
        return self.clean and not (self.short or self.unread)


def verify_erasure(url: str, text: str, *, rewrite: bool, skip_short: bool = False) -> Report:
    """Look for a text everywhere. `skip_short`: sentences that are too short to be told from others' do not matter.

    Raises:
        InvalidRequest: the text is too short to say anything.
        MissingDependency: the role of `url` does not see every row.
        Unavailable: Postgres does not answer.
    """
    wanted = fragments.fragments(text)
    if not wanted.whole:
        raise InvalidRequest(
            f"a text of fewer than {fragments.SHORTEST} letters and digits is found everywhere, and proves nothing"
        )
    report = Report(short=0 if skip_short else wanted.short)
    with verification.looking(url) as connection:
        passed_over = verification.vacuum(connection, rewrite=rewrite)
        report.tables = len(verification.tables(connection))
        report.traces = _traces(connection, wanted)
        readable = verification.may_read_files(connection)
        if readable:
            verification.write_out(connection)
            _search_files(connection, wanted, report)
        # Of tables that were written anew nothing is left but what lives; otherwise dead versions of rows have to be looked at.
        if not readable and (passed_over or not rewrite):
            report.unread.append("dead bytes in the files of the tables, which this role may not read")
        elif not rewrite:
            tables = verification.compressed(connection)
            report.unread += [f"dead bytes of long texts in {table}, which may be compressed" for table in tables]
    return report


def _traces(connection: verification.Connection, wanted: Fragments) -> list[Trace]:
    wholes = {form(text).encode() for text in wanted.whole}
    parts = {
        piece for text in (*wanted.whole, *wanted.parts) for piece in (form(text).encode(), *fragments.windows(text))
    }
    matcher = Matcher(wholes | parts)
    rows: Counter[Place] = Counter()
    entire: set[Place] = set()
    for place, found in _found(_spelled(verification.values(connection)), matcher):
        rows[place] += 1
        if wholes & found:
            entire.add(place)
    # Most rows have a name of their own; the whole text comes before pieces of it.
    named = sorted(rows, key=lambda place: (place not in entire, place.table, place.column))[:MOST]
    return [
        Trace(place, place in entire, rows[place], *(verification.memory(connection, place.name) or (None, None)))
        for place in named
    ]


def _spelled(values: Iterable[tuple[Place, str | bytes]]) -> Iterator[tuple[Place, list[bytes]]]:
    for place, value in values:
        text = value if isinstance(value, str) else value.decode("utf-8", "ignore")
        yield place, [form(reading).encode() for reading in readings(text)]


def _found(values: Iterable[tuple[Place, list[bytes]]], matcher: Matcher) -> Iterator[tuple[Place, set[bytes]]]:
    """Values that hold a needle, with what they hold: many are searched together."""
    places: list[Place] = []
    starts: list[int] = []
    data = bytearray()

    def flush() -> Iterator[tuple[Place, set[bytes]]]:
        held: dict[int, set[bytes]] = {}
        for at, needle in matcher.found_in(bytes(data)):
            held.setdefault(bisect(starts, at) - 1, set()).add(needle)
        yield from ((places[number], found) for number, found in held.items())

    for place, spelled in values:
        places.append(place)
        starts.append(len(data))
        data += b"\n".join([*spelled, b""])  # no needle has a line end
        if len(data) > AT_ONCE:
            yield from flush()
            places.clear()
            starts.clear()
            data.clear()
    yield from flush()


def _search_files(connection: verification.Connection, wanted: Fragments, report: Report) -> None:
    needles = _raw_needles(wanted)
    matcher = Matcher(needles)
    for file in verification.files(connection):
        read = partial(verification.blocks, connection, file.path)
        if _holds(read(), matcher) or (file.cuts and _holds_across(read, needles, matcher)):
            report.files.append(file.relation)
    report.log = sum(
        _holds(verification.blocks(connection, path), matcher) for path in verification.log_files(connection)
    )


def _raw_needles(wanted: Fragments) -> set[bytes]:
    """In a file there is one spelling only: what the text has, in any form of Unicode."""
    spellings = {
        raw_form(unicodedata.normalize(unicode_form, text).encode())
        for text in (*wanted.whole, *wanted.parts)
        for unicode_form in ("NFC", "NFD")
    } | {raw_form(text.encode()) for text in (*wanted.whole, *wanted.parts)}
    return {piece for spelled in spellings for piece in fragments.cut(spelled)}


def _holds(blocks: Iterable[bytes], matcher: Matcher) -> bool:
    tail = b""
    for block in blocks:
        window = tail + raw_form(block)
        if _matches(window, matcher):
            return True
        tail = window[-matcher.longest :]
    return False


def _holds_across(read: Callable[[], Iterable[bytes]], needles: Collection[bytes], matcher: Matcher) -> bool:
    """Whether a needle lies across a border, where a long value was cut."""
    begun = {needle[:length] for needle in needles for length in range(1, len(needle))}

    def begins(end: bytes) -> bool:
        spelled = raw_form(end)
        return any(spelled[-length:] in begun for length in range(1, matcher.longest))

    return any(_matches(raw_form(joint), matcher) for joint in joints(read, begins))


def _matches(data: bytes, matcher: Matcher) -> bool:
    return next(matcher.found_in(data), None) is not None
