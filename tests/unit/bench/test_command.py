"""The command line: what it runs, what it keeps, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import command, page, plots, result
from bench.figure import Figure, MeasurementFailed, Round
from bench.figures import FIGURES
from bench.result import Verdict
from tests.unit.bench.figures_for_tests import a_figure

GOOD = Round(70.0, 100.0, 0.01)
BAD = Round(10.0, 100.0, 0.01)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of the results that are kept, instead of files of the repository."""
    names: list[str] = []
    monkeypatch.setattr(command, "let_signals_unwind", lambda: None)
    monkeypatch.setattr(result, "write", lambda item: names.append(item.figure))
    monkeypatch.setattr(command, "redraw", lambda: names.append("drawn"))
    return names


def with_figures(monkeypatch: pytest.MonkeyPatch, *figures: Figure) -> None:
    monkeypatch.setattr(command, "FIGURES", figures)


def test_list_names_every_figure_and_runs_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0

    told = capsys.readouterr().out
    assert [line.split()[0] for line in told.splitlines()] == [figure.name for figure in FIGURES]


def test_an_unknown_figure_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--only", "nothing"])

    assert ended.value.code == 2
    assert "pipeline" in capsys.readouterr().err


def test_a_verdict_that_fails_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, kept: list[str]) -> None:
    with_figures(monkeypatch, a_figure(GOOD, name="good"), a_figure(BAD, name="bad"))

    assert command.main(["--only", "good"]) == 0
    assert command.main([]) == 1


@pytest.mark.parametrize(
    ("words", "written"),
    [([], ["good", "drawn"]), (["--quick"], []), (["--quick", "--write"], ["good", "drawn"])],
)
def test_quick_keeps_nothing_unless_asked(
    monkeypatch: pytest.MonkeyPatch, kept: list[str], words: list[str], written: list[str]
) -> None:
    with_figures(monkeypatch, a_figure(GOOD, GOOD, name="good"))

    command.main(words)

    assert kept == written


def test_quick_runs_the_rounds_of_quick(monkeypatch: pytest.MonkeyPatch, kept: list[str]) -> None:
    figure = a_figure(GOOD, GOOD, GOOD)

    assert len(command.run(figure, quick=True, data=None).rounds) == 1
    assert len(command.run(figure, quick=False, data=None).rounds) == 3


def test_a_figure_without_its_data_is_not_run_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, kept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with_figures(monkeypatch, a_figure(GOOD, name="recall", data="set.jsonl.gz"), a_figure(GOOD, name="good"))

    assert command.main([]) == 0
    assert kept == ["good", "drawn"]
    assert "needs set.jsonl.gz in the folder of --data" in capsys.readouterr().out


def test_a_figure_with_its_data_is_run(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl.gz").touch()

    assert command.run(a_figure(GOOD, data="set.jsonl.gz"), quick=True, data=tmp_path).verdict is Verdict.PASS


def test_what_breaks_is_no_pass_and_the_next_has_its_turn(
    monkeypatch: pytest.MonkeyPatch, kept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with_figures(
        monkeypatch,
        a_figure(GOOD, name="breaks", fault=MeasurementFailed("a job failed")),
        a_figure(GOOD, name="good"),
    )

    assert command.main([]) == 1
    assert kept == ["good", "drawn"]
    assert "could not be measured: a job failed" in capsys.readouterr().out


def test_scratch_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    command.run(a_figure(GOOD, fault=MeasurementFailed("no")), quick=True, data=None)

    assert list(tmp_path.iterdir()) == []


def test_redraw_judges_by_the_bound_of_today(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results, pictures, document = tmp_path / "results", tmp_path / "images", tmp_path / "performance.md"
    document.write_text(f"{page.BEGIN}\n{page.END}\n", encoding="utf-8")
    result.write(result.judge(a_figure(bound=0.6), [GOOD], quick=False), results)
    with_figures(monkeypatch, stricter := a_figure(GOOD, bound=0.8))

    command.redraw(results, pictures, document)

    assert result.read_all([stricter], results)["example"].verdict is Verdict.FAIL
    assert "| example | 0.700 | at least 0.800 | fail " in document.read_text(encoding="utf-8")
    assert plots.digest_of(results / "example.json").encode() in (pictures / "example.png").read_bytes()
