"""What a figure is: one number with a bound, measured beside a baseline in the same run, round after round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]


class MeasurementFailed(Exception):
    """What was to be measured did not work: a job failed, or something was not found. There is no number then."""


class Direction(StrEnum):
    """On which side of the bound a value has to be; the bound itself is on it."""

    AT_LEAST = "at least"
    AT_MOST = "at most"

    def holds(self, value: float, bound: float) -> bool:
        return value >= bound if self is Direction.AT_LEAST else value <= bound


@dataclass(frozen=True, slots=True)
class Round:
    """Ours and the baseline, one after the other: positive numbers in the same unit.

    `disturbed` is the largest share of the cores' time that programs which are not ours had in either part. `information` is numbers
    without a bound, each under a name that ends with its unit; `series` is what the figure's chart is drawn from.
    """

    ours: float
    baseline: float
    disturbed: float
    information: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """Ours as a multiple of the baseline: what the bound is for."""
        return self.ours / self.baseline


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture beside the rounds: groups of bars over `x`, or a line for each of `series` over `x`."""

    kind: Literal["bars", "lines"]
    title: str
    x_label: str
    y_label: str
    x: Sequence[float | str]
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Task:
    """What a measurement is asked for. `scratch` is an empty folder that is removed afterwards; `data` holds the retrieval sets."""

    rounds: int
    quick: bool
    scratch: Path
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that Infinicon keeps, and how it is measured. The value is always a ratio of two measurements of one run."""

    name: str
    """Of its result file and for --only: lower case, words joined by hyphens."""
    says: str
    """What the number says, in one sentence."""
    ours: str
    """What is measured of Infinicon, with its unit."""
    baseline: str
    """What it stands beside, in the same unit."""
    direction: Direction
    bound: float
    why: str
    """Why the bound is where it is."""
    how: str
    """How ours and the baseline are measured."""
    rounds: int
    quick_rounds: int
    measure: Callable[[Task], Iterator[Round]]
    """Yields one Round after another. Raises MeasurementFailed."""
    chart: Callable[[Sequence[Round]], Chart]
    timed: bool = True
    """Whether other programs on the machine can move the value."""
    data: str | None = None
    """The file of --data that it needs."""
