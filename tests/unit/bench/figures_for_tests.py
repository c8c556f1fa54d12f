"""A figure that measures nothing: it yields the rounds that a test hands it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.figure import Chart, Direction, Figure, Round, Task


def chart(rounds: Sequence[Round]) -> Chart:
    return Chart("bars", "Both", "round", "things/s", ["1"], {"ours": [rounds[0].ours], "theirs": [rounds[0].baseline]})


def a_figure(
    *rounds: Round,
    name: str = "example",
    direction: Direction = Direction.AT_LEAST,
    bound: float = 0.6,
    timed: bool = True,
    data: str | None = None,
    fault: Exception | None = None,
) -> Figure:
    def measure(task: Task) -> Iterator[Round]:
        yield from rounds[: task.rounds]
        if fault is not None:
            raise fault

    return Figure(
        name=name,
        says="What it says.",
        ours="things/s of ours",
        baseline="things/s of theirs",
        direction=direction,
        bound=bound,
        why="Because.",
        how="So.",
        rounds=len(rounds),
        quick_rounds=1,
        measure=measure,
        chart=chart,
        timed=timed,
        data=data,
    )
