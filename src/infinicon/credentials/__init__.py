"""What looks like a credential: the rules of gitleaks (gitleaks.toml beside this file), read as gitleaks reads them.

A rule is tried where one of its keywords stands in the text. What it finds counts where it has the entropy that the rule asks for, and no
allow list knows it. Rules are regular expressions of RE2, and so their time is linear in the text, whatever stands in it. Rules that look
at the names of files are left out: there are none.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import re2
from ahocorasick_rs import AhoCorasick

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Finding:
    """Characters [start, end) of a text look like the credential that the rule is about."""

    start: int
    end: int
    rule: str


class AllowList:
    """What is no credential after all: by patterns and words that stand in what was found, in the whole match, or in its line."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._patterns = [_compiled(pattern) for pattern in wanted.get("regexes", ())]
        self._words = [word.lower() for word in wanted.get("stopwords", ())]
        self._target = wanted.get("regexTarget", "secret")
        self._paths = bool(wanted.get("paths"))
        self._all = wanted.get("condition") == "AND"

    @cached_property
    def _stop(self) -> AhoCorasick | None:
        return AhoCorasick(self._words, store_patterns=False) if self._words else None

    def knows(self, secret: str, match: str, line: str) -> bool:
        if self._all and self._paths:
            return False  # it asks for a file of some name as well
        target = {"match": match, "line": line}.get(self._target, secret)
        by_pattern = any(pattern.search(target) for pattern in self._patterns)
        by_word = self._stop is not None and bool(self._stop.find_matches_as_indexes(secret.lower()))
        if self._all:
            return (by_pattern or not self._patterns) and (by_word or not self._words)
        return by_pattern or by_word


class Rule:
    """One kind of credential. Its expression is compiled when it is first tried: most never are."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self.id: str = wanted["id"]
        self.keywords: Sequence[str] = [word.lower() for word in wanted.get("keywords", ())]
        self._pattern: str = wanted["regex"]
        self._group: int = wanted.get("secretGroup", 0)
        self._entropy: float = wanted.get("entropy", 0.0)
        self._allowed = [AllowList(one) for one in wanted.get("allowlists", ())]

    @cached_property
    def _expression(self) -> Any:
        return _compiled(self._pattern)

    def find(self, text: str, allowed: AllowList) -> list[Finding]:
        """What it finds in the text, less what an allow list knows."""
        found = []
        for match in self._expression.finditer(text):
            start, end = self._span(match)
            secret = text[start:end]
            if not secret or (self._entropy and entropy(secret) <= self._entropy):
                continue
            whole, line = match.group(), _line(text, match.start(), match.end())
            if not any(one.knows(secret, whole, line) for one in (allowed, *self._allowed)):
                found.append(Finding(start, end, self.id))
        return found

    def _span(self, match: Any) -> tuple[int, int]:
        """The secret: the group that the rule names, else its first group that says something, else all of it."""
        groups = [self._group] if self._group else range(1, len(match.groups()) + 1)
        for group in groups:
            if match.group(group):
                start, end = match.span(group)
                return start, end
        start, end = match.span()
        return start, end


class Credentials:
    """All rules together. Safe to share between threads."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._allowed = AllowList({name: part for name, part in wanted["allowlist"].items() if name != "paths"})
        self._rules = [Rule(rule) for rule in wanted["rules"] if "regex" in rule and "path" not in rule]
        words = sorted({word for rule in self._rules for word in rule.keywords})
        self._by_word = [[rule for rule in self._rules if word in rule.keywords] for word in words]
        self._always = [rule for rule in self._rules if not rule.keywords]
        self._words = AhoCorasick(words, store_patterns=False)

    @property
    def names(self) -> frozenset[str]:
        """What rules are called."""
        return frozenset(rule.id for rule in self._rules)

    def find(self, text: str) -> list[Finding]:
        """From left to right, and no two that overlap: of those that begin together the longest, and a special kind before the generic."""
        lowered = _lowered(text)
        tried = {rule.id: rule for rule in self._always}
        for word, _, _ in self._words.find_matches_as_indexes(lowered, overlapping=True):
            tried |= {rule.id: rule for rule in self._by_word[word]}
        if not tried:
            return []
        found = [finding for rule in tried.values() for finding in rule.find(_storable(text), self._allowed)]
        found.sort(key=lambda one: (one.start, one.rule.startswith("generic"), -one.end, one.rule))
        kept: list[Finding] = []
        for one in found:
            if not kept or one.start >= kept[-1].end:
                kept.append(one)
        return kept


@cache
def credentials() -> Credentials:
    """The rules of this release, read once for a process."""
    return Credentials(tomllib.loads(files(__name__).joinpath("gitleaks.toml").read_text("utf-8")))


def entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _lowered(text: str) -> str:
    """For keywords, which are ASCII; what UTF-8 does not know is none of them."""
    return _storable(text).lower()


def _storable(text: str) -> str:
    """Code points that UTF-8 does not know become others of the same length."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _line(text: str, start: int, end: int) -> str:
    finish = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : len(text) if finish < 0 else finish]
