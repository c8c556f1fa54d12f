"""A pass tells of a memory that leaks, and of a consolidation that fails. That it consolidates is seen from outside (tests/e2e)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from uuid import UUID

import pytest

from infinicon.domain import JobStatus
from infinicon.errors import Unavailable
from infinicon.operations import consolidation_pass as passes
from infinicon.operations import redaction
from infinicon.operations.consolidation_pass import SAID, consolidation_pass
from infinicon.operations.redaction import NOTHING
from tests.store.operations.conformance import parts_of
from tests.store.operations.conftest import Pipeline

Ends = Callable[[JobStatus], None]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Has consolidations end like that, without any work."""

    def end(status: JobStatus) -> None:
        monkeypatch.setattr(passes, "consolidate", lambda *_: SimpleNamespace(id=UUID(int=1), status=status))

    return end


def test_a_secret_that_can_be_read_is_told_of(pipeline: Pipeline, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    ends(JobStatus.COMPLETED)
    parts = parts_of(pipeline)
    assert consolidation_pass(parts, pipeline.caller, "good", canary=True).leaked is False

    monkeypatch.setattr(redaction, "in_scope", lambda *_: NOTHING)
    found = consolidation_pass(parts, pipeline.caller, "bad", canary=True)
    assert (found.leaked, found.before, found.after) == (True, len(SAID) + 1, len(SAID) + 1)


def test_what_is_there_is_left_as_it_is(pipeline: Pipeline, ends: Ends) -> None:
    ends(JobStatus.COMPLETED)
    parts = parts_of(pipeline)
    first, second = (consolidation_pass(parts, pipeline.caller, "notes", canary=False) for _ in range(2))

    assert first.before == second.before == len(SAID)


def test_a_consolidation_that_fails_is_no_pass(pipeline: Pipeline, ends: Ends) -> None:
    ends(JobStatus.FAILED)
    with pytest.raises(Unavailable, match="getJob says why"):
        consolidation_pass(parts_of(pipeline), pipeline.caller, "notes", canary=False)
