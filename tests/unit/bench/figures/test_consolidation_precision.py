"""What is counted as right and as wrong, on pairs by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench.figures import consolidation_precision as figure
from bench.figures.consolidation_precision import Pair

SOUND = [
    Pair("update", "The gate code is 4711.", "The gate code is now 4712."),
    Pair("entailment", "Rosa moved to Turin in May.", "Rosa moved to Turin."),
    Pair("paraphrase", "The code is on the blue tag.", "The code is on a blue tag."),
    Pair("contradiction", "Rosa is allergic to nuts.", "Rosa is not allergic to nuts."),
    Pair("update", "The budget is five.", "The budget is five."),
    Pair("neutral", "The window is open.", "The door is blue."),
]


def test_what_is_right_counts_as_right() -> None:
    found = figure.tally(SOUND)

    assert dict(found.done) == {"superseded": 1, "folded": 3, "retired": 4, "disputed": 1}
    assert found.right == found.done
    assert found.precision == 1.0


def test_what_is_wrong_counts_as_wrong() -> None:
    found = figure.tally(
        [
            SOUND[0],
            Pair("neutral", "The gate code is 4711.", "The gate code is now 4712."),
            Pair("not_paraphrase", "Rosa moved to Turin in May.", "Rosa moved to Turin."),
            Pair("update", "Rosa moved to Turin in May.", "Rosa moved to Turin."),
        ]
    )

    assert (found.done["retired"], found.right["retired"]) == (4, 1)
    assert found.precision == 0.25


def test_the_earlier_of_a_conversation_comes_first() -> None:
    held = {"kind": "update", "a": "new", "b": "old", "meta": {"a_ids": [9], "b_ids": [4, 6]}}

    assert figure.parse(held) == Pair("update", "old", "new")
    assert figure.parse({"kind": "neutral", "a": "one", "b": "two", "meta": {}}) == Pair("neutral", "one", "two")


def test_every_so_many_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    lines = [json.dumps({"kind": "neutral", "a": str(at), "b": "", "meta": {}}) for at in range(5)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))

    assert [pair.before for pair in figure.read(path)] == ["0", "1", "2", "3", "4"]
    assert [pair.before for pair in figure.read(path, 2)] == ["0", "2", "4"]


def test_curves_move_one_threshold_at_a_time() -> None:
    curves = figure.curves(SOUND)

    assert curves["folded"] == curves["rightly folded"] == [2, 2, *[3] * 6]


@pytest.mark.parametrize(("part", "whole", "share"), [(1, 2, 0.5), (0, 0, 1.0)])
def test_a_share_of_nothing_is_all_of_it(part: int, whole: int, share: float) -> None:
    assert figure.share(part, whole) == share
