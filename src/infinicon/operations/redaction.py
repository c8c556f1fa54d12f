"""Redaction at write (SR-1): the one chokepoint through which text passes before it is stored, logged or sent.

Secrets that a tenant has made known are replaced by `[REDACTED:<secretId>]`: literally, the longest where several begin at one place, and
only values of 8 characters and more. Of overlapping secrets the one that begins first goes. A marker of a known secret is left whole
whatever it holds, so that redacting twice changes nothing. The time is linear in the text, however many secrets there are.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from uuid import UUID

from ahocorasick_rs import AhoCorasick, MatchKind

from infinicon.domain import Json
from infinicon.errors import MissingDependency
from infinicon.keyring import Keyring, SealBroken
from infinicon.store import secrets
from infinicon.store.database import Transaction

SHORTEST = 8
"""Characters of a value that is replaced: shorter ones are words of their own in too many texts."""

_OPENING = "[REDACTED:"
_MARKER = re.compile(r"\[REDACTED:([^\[\]\s]{1,100})\]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"[-+.0-9eE]+")


def marker(secret: str) -> str:
    """What stands in the place of a secret."""
    return f"{_OPENING}{secret}]"


class Redactor:
    """Replaces known secrets. `values`: what to replace, by the id that the marker names. Immutable, safe to share between threads."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        known = {value: name for name, value in sorted((values or {}).items()) if len(value) >= SHORTEST}
        self._ids = frozenset(known.values())
        self._markers = [marker(name) for name in known.values()]
        self._numbers = any(_NUMBER.fullmatch(value) for value in known)
        self._find = AhoCorasick(known, matchkind=MatchKind.LeftmostLongest, store_patterns=False) if known else None

    def text(self, value: str) -> str:
        """The text without known secrets. What needs no change is the same object."""
        if self._find is None:
            return value
        if _OPENING not in value:
            return self._piece(self._find, value)
        pieces, start = [], 0
        for found in _MARKER.finditer(value):
            if found[1] in self._ids:
                pieces += [self._piece(self._find, value[start : found.start()]), found[0]]
                start = found.end()
        return "".join([*pieces, self._piece(self._find, value[start:])])

    def _piece(self, find: AhoCorasick, value: str) -> str:
        # Code points that UTF-8 does not know are looked at as others of the same length.
        searched = value if value.isascii() else _SURROGATE.sub("\ufffd", value)
        pieces, start = [], 0
        for pattern, begin, end in find.find_matches_as_indexes(searched):
            pieces += [value[start:begin], self._markers[pattern]]
            start = end
        return "".join([*pieces, value[start:]]) if pieces else value

    def json(self, value: Json) -> Json:
        """The same of every string in it, keys too, and of numbers as they are written. Keys that become equal are numbered."""
        if self._find is None or value is None or isinstance(value, bool):
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

    def tags(self, tags: Iterable[str]) -> Sequence[str]:
        """Tags without known secrets."""
        return [self.text(tag) for tag in tags]

    def optional(self, value: str | None) -> str | None:
        """Text that may be absent."""
        return None if value is None else self.text(value)

    def changes(self, value: str | None) -> bool:
        """Whether there is a known secret in it."""
        return value is not None and self.text(value) != value


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
        found = Redactor({str(one.id): _opened(keyring, tenant, one) for one in secrets.sealed(tenant, tx)})
        _known.keep(version, found)
    return found


PURPOSE = "secrets"


def _opened(keyring: Keyring, tenant: int, secret: secrets.Sealed) -> str:
    try:
        return keyring.open(PURPOSE, secret.ciphertext, context(tenant, secret.id)).decode()
    except SealBroken:
        raise MissingDependency(
            "the secrets of a tenant are kept under another master key: bring that INFINICON_MASTER_KEY back"
        ) from None


def context(tenant: int, secret: UUID) -> bytes:
    """What a ciphertext is bound to: moved to another row, it does not open."""
    return f"{tenant} {secret}".encode()
