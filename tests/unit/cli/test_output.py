from __future__ import annotations

import pytest

from infinicon.cli.output import clipped, table, visible


def test_a_table_lines_up_also_with_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name", "n"), [("日本", 7), ("e\u0301té", 123)])

    assert capsys.readouterr().out == "name    n\n日本    7\ne\u0301té   123\n"


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\x07b", "a\u202eb", "a\rb", "a\u2028b"])
def test_other_peoples_text_does_not_steer_the_terminal(text: str) -> None:
    assert visible(text).isprintable()


def test_clipping_keeps_to_the_width() -> None:
    assert clipped("a\n b\t c", 10) == "a b c"
    assert clipped("x" * 11, 10) == "x" * 9 + "…"
