"""Plans: what a consolidator proposes is believed in nothing. It is applied as a whole, or not at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias
from uuid import UUID

from infinicon.domain import MemoryType, Stage
from infinicon.errors import EmptySynthesis, PluginFailed
from infinicon.guard import guarded
from infinicon.operations.selecting import COUNTER, Slice
from infinicon.ports import Consolidator, Digest, Dispute, Duplicate, Plan, Supersession
from infinicon.store.consolidation_changes import Kind

LONGEST_TITLE = 256
"""Characters."""

LONGEST_TOKEN = 128
"""Characters. A content that is longer than so many for each token of its budget is over it, and not counted: that would take long."""

REASON = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""A reason is a word of the plug-in, by its form: text of a memory has no place in it."""


Breach: TypeAlias = "tuple[str, Mapping[str, str | int] | None]"
"""A rule, and what else there is to say of it."""


@dataclass(frozen=True, slots=True)
class NewDigest:
    """A consolidation to make. `replaces` are consolidations whose place it takes."""

    title: str
    content: str
    sources: Sequence[UUID]
    replaces: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Retired:
    """`old` gives way to `new`: superseded by it, or folded into it."""

    kind: Kind
    old: UUID
    new: UUID
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    first: UUID
    second: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A plan whose every part was checked, over ids."""

    digests: Sequence[NewDigest] = ()
    retired: Sequence[Retired] = ()
    disputes: Sequence[Contradiction] = ()

    @property
    def used(self) -> set[UUID]:
        """Every memory that it is about."""
        ids = {memory for digest in self.digests for memory in (*digest.sources, *digest.replaces)}
        ids |= {memory for one in self.retired for memory in (one.old, one.new)}
        return ids | {memory for one in self.disputes for memory in (one.first, one.second)}


def propose(consolidator: Consolidator, part: Slice) -> Checked:
    """Ask the plug-in for its plan of a slice, and check it.

    Raises:
        PluginFailed: it raised, or the plan breaks a rule; names the rule, the plug-in and the stage.
        EmptySynthesis: a digest says nothing.
        InfiniconError: as the plug-in raised it.
    """
    return guarded(Stage.CONSOLIDATE, _name(consolidator), lambda: _check(_asked(consolidator, part), part))


def _asked(consolidator: Consolidator, part: Slice) -> object:
    """Whoever asks works in a thread or in a process of its own: a plug-in that leaves means to end that, and not all of a worker."""
    try:
        return consolidator.consolidate(part.request)
    except (SystemExit, KeyboardInterrupt) as left:
        kind = type(left).__name__
    plugin = _name(consolidator)
    raise PluginFailed(
        f"the plug-in {plugin} raised {kind} in the stage {Stage.CONSOLIDATE.value}",
        details={"plugin": plugin, "stage": Stage.CONSOLIDATE.value, "type": kind},
    )


def _name(consolidator: Consolidator) -> str:
    return str(consolidator.name)[:100]


def _check(plan: object, part: Slice) -> Checked:
    if not isinstance(plan, Plan):
        _refuse("the plan is no Plan")
    most = len(part.memories)
    digests = _listed(plan.digests, Digest, most, "digests")
    supersessions = _listed(plan.supersessions, Supersession, most, "supersessions")
    disputes = _listed(plan.disputes, Dispute, most * 8, "disputes")
    duplicates = _listed(plan.duplicates, Duplicate, most, "duplicates")
    checked = Checked(
        [_digest(one, part) for one in digests],
        [_superseded(one, part) for one in supersessions] + [_folded(one, part) for one in duplicates],
        [_contradiction(one, part) for one in disputes],
    )
    _check_together(checked)
    return checked


def _listed(value: object, kind: type, most: int, name: str) -> list[object]:
    if not isinstance(value, list | tuple):
        _refuse(f"{name} is no list")
    if len(value) > most:
        _refuse(f"there are too many {name}")
    if not all(isinstance(one, kind) for one in value):
        _refuse(f"{name} holds something else")
    return list(value)


def _digest(one: object, part: Slice) -> NewDigest:
    assert isinstance(one, Digest)  # by _listed
    budget = part.request.token_budget
    over: Breach = ("a digest is over its token budget", {"counter": COUNTER, "limit": budget})
    title = _text(one.title, "title", LONGEST_TITLE, ("a title is too long", None))
    content = _text(one.content, "content", LONGEST_TOKEN * budget, over)
    if not says_something(content):
        raise EmptySynthesis("a digest says nothing", details={"stage": Stage.CONSOLIDATE.value})
    if not says_something(title):
        _refuse("a title says nothing")
    sources = _keys(one.sources, part, "sources")
    if len(sources) < 2:
        _refuse("a digest has two sources at least")
    replaces = _keys(one.replaces, part, "replaces")
    if any(part.memories[key].type is not MemoryType.CONSOLIDATION for key in replaces):
        _refuse("a digest replaces consolidations only")
    if set(sources) & set(replaces):
        _refuse("a digest replaces one of its sources")
    if part.request.count(content) > budget:
        _refuse(*over)
    return NewDigest(title.strip(), content.strip(), _ids(sources, part), _ids(replaces, part))


def says_something(content: str) -> bool:
    """Whether there are letters or digits in it, of whatever script."""
    return any(character.isalnum() for character in content)


def _superseded(one: object, part: Slice) -> Retired:
    assert isinstance(one, Supersession)
    old, new = _keys([one.old, one.new], part, "supersessions", "one memory supersedes itself")
    return Retired(Kind.SUPERSEDED, part.memories[old].id, part.memories[new].id, _reason(one.reason))


def _folded(one: object, part: Slice) -> Retired:
    assert isinstance(one, Duplicate)
    kept, folded = _keys([one.kept, one.folded], part, "duplicates", "one memory is its own duplicate")
    return Retired(Kind.FOLDED, part.memories[folded].id, part.memories[kept].id)


def _contradiction(one: object, part: Slice) -> Contradiction:
    assert isinstance(one, Dispute)
    first, second = _keys([one.first, one.second], part, "disputes", "one memory contradicts itself")
    return Contradiction(part.memories[first].id, part.memories[second].id, _reason(one.reason))


def _keys(value: object, part: Slice, name: str, twice: str = "a key comes twice") -> list[str]:
    if not isinstance(value, list | tuple):
        _refuse(f"{name} is no list")
    if len(value) > len(part.memories):
        _refuse(twice)
    if not all(isinstance(key, str) and key in part.memories for key in value):
        _refuse(f"{name} has a key that was not given")
    if len(set(value)) < len(value):
        _refuse(twice)
    return list(value)


def _ids(keys: Iterable[str], part: Slice) -> list[UUID]:
    return sorted(part.memories[key].id for key in keys)


def _text(value: object, name: str, longest: int, too_long: Breach) -> str:
    """The length first: whatever looks at each character of a huge one takes long."""
    if type(value) is not str:
        _refuse(f"a {name} is no text")
    if len(value) > longest:
        _refuse(*too_long)
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        _refuse(f"a {name} holds NUL or lone surrogates")
    return value


def _reason(value: object) -> str:
    if type(value) is not str or REASON.fullmatch(value) is None:
        _refuse("a reason is no single word")
    return value


def _check_together(checked: Checked) -> None:
    """What no part of a plan breaks alone."""
    gone = [one.old for one in checked.retired] + [old for digest in checked.digests for old in digest.replaces]
    if len(set(gone)) < len(gone):
        _refuse("a memory gives way twice")
    kept = {one.new for one in checked.retired if one.kind is Kind.FOLDED}
    if kept & {one.old for one in checked.retired if one.kind is Kind.FOLDED}:
        _refuse("a memory is both kept and folded")
    if _goes_round({one.old: one.new for one in checked.retired}):
        _refuse("memories give way in a circle")
    pairs = [frozenset({one.first, one.second}) for one in checked.disputes]
    if len(set(pairs)) < len(pairs):
        _refuse("a contradiction comes twice")
    if any(pair & set(gone) for pair in pairs):
        _refuse("a memory that gives way is disputed")


def _goes_round(successors: Mapping[UUID, UUID]) -> bool:
    ends: set[UUID] = set()
    for start in successors:
        path: set[UUID] = set()
        at = start
        while at in successors and at not in ends:
            if at in path:
                return True
            path.add(at)
            at = successors[at]
        ends |= path
    return False


def without(checked: Checked, dead: Collection[UUID]) -> Checked:
    """The plan without whatever is about one of these memories."""
    return Checked(
        [one for one in checked.digests if not set(dead) & {*one.sources, *one.replaces}],
        [one for one in checked.retired if not set(dead) & {one.old, one.new}],
        [one for one in checked.disputes if not set(dead) & {one.first, one.second}],
    )


def _refuse(rule: str, details: Mapping[str, str | int] | None = None) -> NoReturn:
    raise PluginFailed(
        f"the consolidator's plan breaks its contract: {rule}",
        details={"stage": Stage.CONSOLIDATE.value, "rule": rule, **(details or {})},
    )
