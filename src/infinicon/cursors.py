"""Cursors: opaque to callers, signed, and bound to what they page through and to the scope that they were given for."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from infinicon.errors import InvalidCursor, ScopeMismatch
from infinicon.keyring import Keyring

Position: TypeAlias = "Sequence[str | int | None]"

_VERSION = b"\x01"
_SCOPE = 8
_SEAL = 16


def seal(keyring: Keyring, kind: str, scope: Sequence[str | int | None], position: Position) -> str:
    """A cursor of this kind (`events`, `jobs`, …) for this scope that stands at `position`."""
    return sealer(keyring, kind, scope)(position)


def sealer(keyring: Keyring, kind: str, scope: Sequence[str | int | None]) -> Callable[[Position], str]:
    """Seals any number of positions of one scope, at half the price of `seal` for each."""
    head = _VERSION + _tag(keyring, kind, scope)

    def run(position: Position) -> str:
        body = head + _packed(position)
        return base64.urlsafe_b64encode(body + _signature(keyring, kind, body)).decode("ascii").rstrip("=")

    return run


def unseal(keyring: Keyring, kind: str, scope: Sequence[str | int | None], cursor: str) -> list[str | int | None]:
    """The position that `seal` was given.

    Raises:
        InvalidCursor: not one of ours, of another kind, or changed on its way.
        ScopeMismatch: ours, but given for another scope.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):  # ValueError: characters beyond ASCII
        raise InvalidCursor("the cursor is not valid") from None
    body, signature = raw[:-_SEAL], raw[-_SEAL:]
    spelled = base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    # The last character carries bits that decoding drops, so a cursor has several spellings; only ours is one.
    if not hmac.compare_digest(signature, _signature(keyring, kind, body)) or spelled != cursor or body[:1] != _VERSION:
        raise InvalidCursor("the cursor is not valid")
    if not hmac.compare_digest(body[1 : 1 + _SCOPE], _tag(keyring, kind, scope)):
        raise ScopeMismatch("the cursor was given for another scope")
    position: list[str | int | None] = json.loads(body[1 + _SCOPE :])
    return position


def _tag(keyring: Keyring, kind: str, scope: Sequence[str | int | None]) -> bytes:
    return keyring.mac("cursor-scope", kind.encode(), _packed(scope))[:_SCOPE]


def _signature(keyring: Keyring, kind: str, body: bytes) -> bytes:
    return keyring.mac("cursor", kind.encode(), body)[:_SEAL]


def _packed(values: Sequence[str | int | None]) -> bytes:
    return json.dumps(list(values), separators=(",", ":")).encode("ascii")
