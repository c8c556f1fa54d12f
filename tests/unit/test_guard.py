"""What crosses the boundary to plug-ins."""

from __future__ import annotations

import traceback

import pytest

from infinicon.errors import InvalidContent, PluginFailed
from infinicon.guard import guarded


class Awkward(Exception):
    def __init__(self, first: object, second: object) -> None:
        super().__init__(first, second)


def test_a_result_passes() -> None:
    assert guarded("extract", "mine", max, 1, 2) == 2


def test_our_own_error_passes_as_it_is() -> None:
    def refuse() -> None:
        raise InvalidContent("not text")

    with pytest.raises(InvalidContent):
        guarded("extract", "mine", refuse)


def test_any_other_error_is_named_but_not_quoted() -> None:
    def fail() -> None:
        raise Awkward("CANARY-77", object())

    with pytest.raises(PluginFailed) as caught:
        guarded("extract", "mine", fail)

    assert caught.value.details == {"plugin": "mine", "stage": "extract", "type": "Awkward"}
    assert "CANARY" not in "".join(traceback.format_exception(caught.value))


def test_the_end_of_the_process_is_no_plug_in_fault() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        guarded("extract", "mine", leave)
