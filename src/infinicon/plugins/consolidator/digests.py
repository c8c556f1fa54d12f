"""Topic groups as digests: sentences of their sources, word for word, the most central ones that fit the budget, in order of time.

A digest takes the place of earlier ones that share sources with its group, and carries their sources on. Where nothing new has come
to a topic there is no digest: the same memories consolidated twice give nothing the second time.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from infinicon.domain import MemoryType
from infinicon.plugins.consolidator.neighbours import Matrix
from infinicon.plugins.consolidator.statements import Statement
from infinicon.plugins.consolidator.topics import centrality, topics
from infinicon.plugins.extractor.languages import language_of
from infinicon.plugins.extractor.lines import plain_blocks
from infinicon.plugins.extractor.sentences import claims
from infinicon.ports import Digest, SourceMemory

MOST_SOURCES = 48
"""A digest of so many is full: what comes to its topic begins another."""
SHARED = 2
"""Sources that a group and an earlier digest have in common at least, or all that are left of it."""
_LONGEST = 500
"""Characters of a memory that is taken whole; of a longer one its most fitting sentence."""
_READ = 4_000
_TERMS = 4
_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True)
class Scene:
    """What digests are made of: statements of living atoms with their vectors, and the consolidations that are there."""

    statements: Sequence[Statement]
    matrix: Matrix
    earlier: Sequence[SourceMemory]
    retired: frozenset[str]
    token_budget: int
    count: Callable[[str], int]


def digests(scene: Scene) -> list[Digest]:
    places = {one.key: at for at, one in enumerate(scene.statements)}
    earlier = [one for one in scene.earlier if one.sources and one.type is MemoryType.CONSOLIDATION]
    covered = {key for one in earlier for key in one.sources}
    rarity = _rarity(scene.statements)
    open_ones = {one.key: one for one in earlier if len(one.sources) < MOST_SOURCES}
    found = []
    for group in topics(scene.statements, scene.matrix):
        new = {scene.statements[at].key for at in group if scene.statements[at].memory.fresh} - covered
        if not new:
            continue
        replaced = _replaced(scene, group, open_ones.values())
        digest = _digest(scene, group, replaced, places, rarity)
        if digest is not None and not new.isdisjoint(digest.sources):
            found.append(digest)
            for one in replaced:
                del open_ones[one.key]
    found += _renewed(scene, open_ones.values(), places, rarity)
    known = {_flat(one.content) for one in scene.earlier}
    return sorted((one for one in found if _flat(one.content) not in known), key=lambda one: min(one.sources))


def _replaced(scene: Scene, group: Sequence[int], earlier: Iterable[SourceMemory]) -> list[SourceMemory]:
    keys = {scene.statements[at].key for at in group}
    return [one for one in earlier if len(keys.intersection(one.sources)) >= min(SHARED, len(one.sources))]


def _renewed(
    scene: Scene, earlier: Iterable[SourceMemory], places: Mapping[str, int], rarity: Mapping[str, float]
) -> list[Digest]:
    """Digests that rest on what this plan retires, without it."""
    stale = [one for one in earlier if not scene.retired.isdisjoint(one.sources)]
    made = (_digest(scene, [], [one], places, rarity) for one in stale)
    return [digest for digest in made if digest is not None]


def _digest(
    scene: Scene,
    group: Sequence[int],
    replaced: Sequence[SourceMemory],
    places: Mapping[str, int],
    rarity: Mapping[str, float],
) -> Digest | None:
    carried = sorted({places[key] for one in replaced for key in one.sources if key in places})
    members = sorted({*group, *carried})
    if len(members) < 2:
        return None
    central = centrality(scene.matrix, members)
    terms = _terms([scene.statements[at] for at in members], rarity)
    chosen = _chosen(scene, sorted(members, key=lambda at: (-central[at], at)), terms)
    if len(chosen) < 2:
        return None
    return Digest(
        _title([scene.statements[at] for at in members], terms, chosen[max(chosen, key=lambda at: (central[at], -at))]),
        _text(scene, chosen),
        sorted(scene.statements[at].key for at in {*chosen, *carried}),
        sorted(one.key for one in replaced),
    )


def _chosen(scene: Scene, best_first: Sequence[int], terms: Sequence[str]) -> dict[int, str]:
    """By member its line, as many as fit."""
    chosen: dict[int, str] = {}
    said: set[str] = set()
    for at in best_first:
        statement = scene.statements[at]
        sentence = _sentence(statement, terms)
        if sentence is None or _flat(sentence) in said:
            continue
        line = f"{statement.memory.speaker}: {sentence}" if statement.memory.speaker else sentence
        # Counted as it will be written: a tokenizer may join the end of a line with what comes next, so that lines in another order cost
        # another number of tokens.
        if scene.count(_text(scene, {**chosen, at: line})) <= scene.token_budget:
            chosen[at] = line
            said.add(_flat(sentence))
    return chosen


def _text(scene: Scene, lines: Mapping[int, str]) -> str:
    """The lines of members in order of time."""
    in_time = sorted(lines, key=lambda at: (scene.statements[at].time, scene.statements[at].key))
    return "\n".join(lines[at] for at in in_time)


def _sentence(statement: Statement, terms: Sequence[str]) -> str | None:
    """What a digest says of a memory, on one line: all of it, or the sentence of it that has most of the terms."""
    content = statement.memory.content
    if len(content) > _LONGEST:
        part = content[:_READ]
        language = language_of(part)
        found = [part[start:end] for block in plain_blocks(part)[0] for start, end in claims(part, block, language)]
        found = [one for one in found if len(one) <= _LONGEST]
        if not found:
            return None
        return " ".join(max(found, key=lambda one: (sum(term in one.casefold() for term in terms), -len(one))).split())
    return " ".join(content.split()) or None


def _rarity(statements: Sequence[Statement]) -> dict[str, float]:
    """By stem: the logarithm of how many statements there are for each that has it."""
    found_in = Counter(word for statement in statements for word in statement.topic)
    return {word: math.log((len(statements) + 1) / count) for word, count in found_in.items()}


def _terms(members: Sequence[Statement], rarity: Mapping[str, float]) -> list[str]:
    """Stems that several members share, the most telling first."""
    found_in = Counter(word for statement in members for word in statement.topic)
    shared = {word: count * rarity.get(word, 0.0) for word, count in found_in.items() if count > 1 and len(word) > 1}
    return sorted(shared, key=lambda word: (-round(shared[word], 6), word))[:_TERMS]


def _title(members: Sequence[Statement], terms: Sequence[str], line: str) -> str:
    """The terms as they are most often written; where there are none, the beginning of the most central line."""
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for statement in members:
        for word in statement.said:
            if word.stem in terms:
                written[word.stem][word.said.capitalize() if word.named else word.said] += 1
    forms = [min(written[term].items(), key=lambda one: (-one[1], one[0]))[0] for term in terms if term in written]
    if not forms:
        return line if len(line) <= _LONGEST_TITLE else line[:_LONGEST_TITLE].rsplit(" ", 1)[0]
    title = ", ".join(forms)
    return title[:1].upper() + title[1:]


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()
