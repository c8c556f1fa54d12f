"""Redaction at write (SR-1): the one chokepoint through which text passes before it is stored, logged or sent.

Secrets that a tenant has made known are replaced by `[REDACTED:<secretId>]`: literally, and only values of 8 characters and more. All that
any of them covers goes; where some overlap, one marker stands for all, that of the longest. A marker of a known secret is left whole
whatever it holds, so that redacting twice changes nothing. The time is linear in the text, however many secrets there are.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TypeAlias
from uuid import UUID

from infinicon.credentials import credentials
from infinicon.domain import ActorRef, Fault, Json, ScopeKey
from infinicon.errors import Detail, InvalidRequest, MissingDependency
from infinicon.keyring import Keyring, SealBroken
from infinicon.operations.covering import Covering
from infinicon.store import policies, secrets
from infinicon.store.database import Transaction

SHORTEST = 8
"""Characters of a value that is replaced: shorter ones are words of their own in too many texts."""

PLAIN = frozenset({"text/plain", "application/json"})
"""Media types that stand in the place of those that say a secret."""

_OPENING = "[REDACTED:"
_MARKER = re.compile(r"\[REDACTED:([^\[\]\s]{1,100})\]")
_NUMBER = re.compile(r"[-+.0-9eE]+")


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters [start, end) of a text, and the marker that takes their place."""

    start: int
    end: int
    marker: str


Patterns: TypeAlias = Callable[[str], Iterable[Edit]]
"""Finds what looks like a credential in a text: from left to right, and no two that overlap."""


def marker(secret: str) -> str:
    """What stands in the place of a secret."""
    return f"{_OPENING}{secret}]"


class Redactor:
    """Replaces known secrets. Immutable, safe to share between threads.

    `values`: what to replace, by the id that the marker names.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        known = {value: name for name, value in sorted((values or {}).items()) if len(value) >= SHORTEST}
        self._names = frozenset(known.values())
        self._markers = {value: marker(name) for value, name in known.items()}
        self._numbers = any(_NUMBER.fullmatch(value) for value in known)
        self._covering = Covering(list(known)) if known else None
        self._patterns: Patterns | None = None

    @cached_property
    def strict(self) -> Redactor:
        """The same, which also replaces what looks like a credential."""
        rules = credentials()

        def patterns(text: str) -> list[Edit]:
            return [Edit(one.start, one.end, marker(one.rule)) for one in rules.find(text)]

        both = copy(self)
        both._patterns = patterns  # noqa: SLF001 -- a copy, which nobody else has seen yet
        both._names = self._names | rules.names  # noqa: SLF001 -- the same
        return both

    @property
    def idle(self) -> bool:
        """Whether it changes nothing whatever comes."""
        return self._covering is None and self._patterns is None

    def text(self, value: str) -> str:
        """The text without known secrets. What needs no change is the same object."""
        return applied(value, self.edits(value))

    def edits(self, value: str) -> list[Edit]:
        """What `text` changes, from left to right."""
        if self.idle:
            return []
        found: list[Edit] = []
        start = 0
        for whole in _MARKER.finditer(value) if _OPENING in value else ():
            if whole[1] in self._names:
                found += self._within(value, start, whole.start())
                start = whole.end()
        return [*found, *self._within(value, start, len(value))]

    def _within(self, value: str, start: int, end: int) -> Iterator[Edit]:
        """What goes of [start, end), which holds no marker: secrets, and credentials between them."""
        secrets_ = [] if self._covering is None else self._secrets(self._covering, value[start:end])
        if self._patterns is None:
            yield from (Edit(start + one.start, start + one.end, one.marker) for one in secrets_)
            return
        at = start
        for one in [*secrets_, Edit(end - start, end - start, "")]:
            for other in self._patterns(value[at : start + one.start]):
                yield Edit(at + other.start, at + other.end, other.marker)
            if one.marker:
                yield Edit(start + one.start, start + one.end, one.marker)
            at = start + one.end

    def _secrets(self, covering: Covering, piece: str) -> list[Edit]:
        return [Edit(one.start, one.end, self._markers[one.value]) for one in covering.find(piece)]

    def json(self, value: Json) -> Json:
        """The same of every string in it, keys too, and of numbers as they are written. Keys that become equal are numbered."""
        if self.idle or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(one) for one in value]
        if isinstance(value, dict):
            return self.mapping(value)
        return self._number(value)

    def _number(self, value: float) -> Json:
        if not self._numbers:
            return value
        written = json.dumps(value)
        redacted = self.text(written)
        return value if redacted == written else redacted

    def mapping(self, value: Mapping[str, Json]) -> dict[str, Json]:
        """A JSON object without known secrets."""
        redacted: dict[str, Json] = {}
        for key, member in value.items():
            name = wanted = self.text(key)
            number = 1
            while name in redacted:
                number += 1
                name = f"{wanted} ({number})"
            redacted[name] = self.json(member)
        return redacted

    def document(self, text: str) -> str:
        """A JSON document as text. One without known secrets is the same object, however it is written."""
        if self.idle:
            return text
        before = json.loads(text)
        after = self.json(before)
        return text if after == before else json.dumps(after, ensure_ascii=False, separators=(",", ":"))

    def stored(self, kept: Json) -> Json:
        """What is kept of a memory for an audit: its content may be a JSON document as text."""
        if isinstance(kept, dict) and isinstance(content := kept.get("content"), str):
            textual = str(kept.get("contentType") or "text/plain").lower().startswith("text/")
            redacted = self.text(content) if textual else self.document(content)
            said = {**self.mapping({**kept, "content": None}), "content": redacted}
            return (
                {**said, "contentType": self.media_type(str(kept["contentType"]))} if kept.get("contentType") else said
            )
        return self.json(kept)

    def tags(self, tags: Iterable[str]) -> Sequence[str]:
        """Tags without known secrets."""
        return [self.text(tag) for tag in tags]

    def optional(self, value: str | None) -> str | None:
        """Text that may be absent."""
        return None if value is None else self.text(value)

    def changes(self, value: str | None) -> bool:
        """Whether there is a known secret in it."""
        return value is not None and self.text(value) != value

    def scope(self, scope: ScopeKey) -> ScopeKey:
        """A scope to write to: its filters are redacted. Its names are how memory is found, and say no secret.

        Raises:
            InvalidRequest: one of them does.
        """
        if self.idle:
            return scope
        named = scope.named
        parts = {"namespaceId": named.namespace_id, "agentId": named.agent_id, "sessionId": named.session_id}
        for field, part in parts.items():
            if self.changes(part):
                rule = "must not hold a known secret"
                details: dict[str, Detail] = {"field": f"scope.{field}", "rule": rule}
                raise InvalidRequest(f"scope.{field} {rule}", details=details)
        return self.asked(scope)

    def asked(self, scope: ScopeKey) -> ScopeKey:
        """A scope to read from: its filters say what those of stored memories say by now."""
        filters = scope.named.filters
        if self.idle or filters is None:
            return scope
        return replace(scope, named=replace(scope.named, filters=self.mapping(filters)))

    def actor(self, actor: ActorRef) -> ActorRef:
        """Who made something."""
        return replace(actor, id=self.text(actor.id))

    def media_type(self, content_type: str) -> str:
        """A media type without known secrets. Its parameters may say anything; one that says a secret itself gives way to a plain one."""
        if content_type.lower() in PLAIN:
            return content_type
        if self.names(content_type):
            return "text/plain" if content_type.lower().startswith("text/") else "application/json"
        return self.text(content_type)

    def names(self, content_type: str) -> bool:
        """Whether there is a known secret in the media type itself. The plain ones name none, whatever is known."""
        end = len(content_type.partition(";")[0])
        return content_type.lower() not in PLAIN and any(edit.start < end for edit in self.edits(content_type))

    def fault(self, fault: Fault) -> Fault:
        """A fault as a plug-in may have worded it."""
        if self.idle:
            return fault
        return replace(fault, message=self.text(fault.message), details=self.mapping(dict(fault.details)))


def applied(value: str, edits: Sequence[Edit]) -> str:
    """The text with these edits; without any it is the same object."""
    if not edits:
        return value
    pieces, start = [], 0
    for edit in edits:
        pieces += [value[start : edit.start], edit.marker]
        start = edit.end
    return "".join([*pieces, value[start:]])


def moved(position: int, edits: Sequence[Edit], *, end: bool) -> int:
    """Where a boundary of a span stands after the edits. Inside of what goes, it moves to the marker's beginning, or to its `end`."""
    shift = 0
    for edit in edits:
        if edit.end <= position:
            shift += len(edit.marker) - (edit.end - edit.start)
        elif edit.start < position:
            return edit.start + shift + (len(edit.marker) if end else 0)
        else:
            break
    return position + shift


NOTHING = Redactor()
"""Knows no secret."""


class _Known:
    """Redactors of this process by the version of a tenant's secrets. A version is a random id: it names one set of secrets, anywhere."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[UUID, Redactor] = OrderedDict()

    def get(self, version: UUID) -> Redactor | None:
        with self._lock:
            if version in self._held:
                self._held.move_to_end(version)
            return self._held.get(version)

    def keep(self, version: UUID, redactor: Redactor) -> None:
        with self._lock:
            self._held[version] = redactor
            while len(self._held) > self._most:
                self._held.popitem(last=False)


_known = _Known(256)


def current(tx: Transaction, tenant: int, keyring: Keyring) -> Redactor:
    """What replaces the tenant's secrets in this transaction. Ask for it in the transaction that stores the text.

    The version is read there and held until it ends: whoever makes a secret known waits for writers that did not know it, and all
    later ones know it. Decrypts only what another version brings.

    Raises:
        MissingDependency: a secret is kept under another master key. Nothing is stored then.
    """
    version = secrets.version(tenant, tx)
    if version is None:
        return NOTHING
    found = _known.get(version)
    if found is None:
        found = Redactor({str(one.id): opened(keyring, tenant, one) for one in secrets.sealed(tenant, tx)})
        _known.keep(version, found)
    return found


def within(tx: Transaction, tenant: int, keyring: Keyring, namespaces: Iterable[int]) -> dict[int, Redactor]:
    """The same for namespaces of the tenant, with what their policies want besides. Raises MissingDependency."""
    wanted = set(namespaces)
    secrets_only = current(tx, tenant, keyring)
    strict = policies.redacting(tenant, tx, wanted)
    return {namespace: secrets_only.strict if namespace in strict else secrets_only for namespace in wanted}


def in_scope(scope: ScopeKey, tx: Transaction, keyring: Keyring) -> Redactor:
    """The same for one scope. Raises MissingDependency."""
    return within(tx, scope.tenant, keyring, [scope.namespace])[scope.namespace]


PURPOSE = "secrets"


def opened(keyring: Keyring, tenant: int, secret: secrets.Sealed) -> str:
    """The value of a secret. Raises MissingDependency."""
    try:
        return keyring.open(PURPOSE, secret.ciphertext, context(tenant, secret.id)).decode()
    except SealBroken:
        raise MissingDependency(
            "the secrets of a tenant are kept under another master key: bring that INFINICON_MASTER_KEY back"
        ) from None


def context(tenant: int, secret: UUID) -> bytes:
    """What a ciphertext is bound to: moved to another row, it does not open."""
    return f"{tenant} {secret}".encode()
