"""Growth is that of the process that grew most, between the peaks of the first and the last third."""

from __future__ import annotations

from bench.figures import memory


def third(*sizes: tuple[float, float]) -> list[memory.Sample]:
    return [(at * 10, {"api": api, "worker embed": embed}) for at, (api, embed) in enumerate(sizes)]


def test_the_process_that_grew_most_counts() -> None:
    thirds = [third((100, 800), (110, 805)), third((105, 806), (130, 806)), third((120, 810), (121, 808))]

    found = memory.as_round(thirds, 20, 0.0)

    assert (found.ours, found.baseline) == (121, 110)
    assert found.information["peak of worker embed in the last third, MB"] == 810
    assert found.information["episodes"] == 60


def test_the_chart_goes_on_over_the_thirds() -> None:
    found = memory.as_round([third((1, 1), (1, 1))] * 3, 20, 0.0)

    drawn = memory.chart([found])

    assert list(drawn.x) == [0, 10, 20, 30, 40, 50]
    assert set(drawn.series) == {"api", "worker embed"}
