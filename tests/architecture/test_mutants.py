"""The faults that are put in on purpose still fit the code. `make mutants` puts them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.trees import ROOT
from tests.mutants.mutants import Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_finds_what_it_changes_and_who_tests_it(mutant: Mutant) -> None:
    assert mutant.edits
    for edit in mutant.edits:
        assert (ROOT / edit.file).read_text().count(edit.old) == 1, edit.file
        assert edit.new != edit.old
    assert mutant.tests
    for test in mutant.tests:
        assert (ROOT / Path(test.split("::", maxsplit=1)[0])).exists(), test
