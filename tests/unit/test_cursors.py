"""A cursor is taken back exactly as it was given, for the same scope and the same kind."""

from __future__ import annotations

import pytest

from infinicon.cursors import seal, unseal
from infinicon.errors import InvalidCursor, ScopeMismatch
from infinicon.keyring import Keyring

RING = Keyring("m" * 32)
SCOPE = (1, 2, None, "session")


def test_a_position_comes_back() -> None:
    cursor = seal(RING, "events", SCOPE, (7, "Ünï", None))

    assert unseal(RING, "events", SCOPE, cursor) == [7, "Ünï", None]
    assert "session" not in cursor


def test_every_changed_character_is_noticed() -> None:
    cursor = seal(RING, "events", SCOPE, (7,))

    for place, was in enumerate(cursor):
        for other in "AZaz09-_":
            if other != was:
                with pytest.raises(InvalidCursor):
                    unseal(RING, "events", SCOPE, cursor[:place] + other + cursor[place + 1 :])


@pytest.mark.parametrize("text", ["", "zzz", "é", "=", "A" * 5000, " ", "\x00"])
def test_what_was_never_ours_is_invalid(text: str) -> None:
    with pytest.raises(InvalidCursor):
        unseal(RING, "events", SCOPE, text)


def test_truncated_padded_and_wrapped_cursors_are_invalid() -> None:
    cursor = seal(RING, "events", SCOPE, (7,))

    for other in (cursor[:-1], cursor[1:], cursor + "=", cursor + "A", " " + cursor, cursor + "\n"):
        with pytest.raises(InvalidCursor):
            unseal(RING, "events", SCOPE, other)


def test_another_kind_or_another_master_key_makes_it_invalid() -> None:
    cursor = seal(RING, "events", SCOPE, (7,))

    with pytest.raises(InvalidCursor):
        unseal(RING, "jobs", SCOPE, cursor)
    with pytest.raises(InvalidCursor):
        unseal(Keyring("n" * 32), "events", SCOPE, cursor)


@pytest.mark.parametrize("scope", [(1, 3, None, "session"), (2, 2, None, "session"), (1, 2, "session", None), (1, 2)])
def test_another_scope_is_a_mismatch(scope: tuple[object, ...]) -> None:
    with pytest.raises(ScopeMismatch):
        unseal(RING, "events", scope, seal(RING, "events", SCOPE, (7,)))  # type: ignore[arg-type]
