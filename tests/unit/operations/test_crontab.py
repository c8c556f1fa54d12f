"""Crontabs: what they may say, and what it means in bits."""

from __future__ import annotations

import pytest

from infinicon.operations import crontab


def members(bits: int) -> list[int]:
    return [number for number in range(64) if bits >> number & 1]


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("0 3 * * *", 0, [0]),
        ("0 3 * * *", 1, [3]),
        ("*/15 * * * *", 0, [0, 15, 30, 45]),
        ("5,10-12,50-59/5 * * * *", 0, [5, 10, 11, 12, 50, 55]),
        ("59 23 31 12 6", 2, [31]),
        ("0 0 * jan,MAR-may *", 3, [1, 3, 4, 5]),
        ("0 0 * * sun", 4, [0]),
        ("0 0 * * 7", 4, [0]),
        ("0 0 * * mon-fri", 4, [1, 2, 3, 4, 5]),
        ("0 0 * * fri-sun", 4, [0, 5, 6]),
        ("0 0 * * *", 4, [0, 1, 2, 3, 4, 5, 6]),
        ("  0\t0  1 * * ", 2, [1]),
    ],
)
def test_a_field_stands_for_its_values(text: str, at: int, expected: list[int]) -> None:
    assert members(crontab.bits(text)[at]) == expected


@pytest.mark.parametrize(
    ("text", "either"),
    [("0 0 1 * 1", 1), ("0 0 * * 1", 0), ("0 0 1 * *", 0), ("0 0 */2 * 1", 0), ("0 0 * * *", 0)],
)
def test_either_day_will_do_where_both_are_named(text: str, either: int) -> None:
    assert crontab.bits(text)[5] == either


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "* * * * * *", "@hourly", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *"),
        *("* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "*/60 * * * *", "5/10 * * * *", "1, * * * *"),
        *(",1 * * * *", "-1 * * * *", "1- * * * *", "1--2 * * * *", "1-2-3 * * * *", "*/ * * * *", "*/5/5 * * * *"),
        *("+1 * * * *", "1.0 * * * *", "001 * * * *", "\u0661 * * * *", "mon * * * *", "* * * * janu", "* * * * L"),
        *("? * * * *", "** * * * *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 4 */2", "* * * * *" + " " * 300),
    ],
)
def test_what_is_no_crontab_is_refused_without_an_echo(text: str) -> None:
    with pytest.raises(ValueError, match=r"crontab|minute|hour|month|week") as refusal:
        crontab.bits(text)
    assert "janu" not in str(refusal.value)


def test_a_day_that_a_weekday_can_make_up_for() -> None:
    assert crontab.bits("0 0 30 2 1")[5] == 1


def test_the_29th_of_february_is_a_day() -> None:
    assert members(crontab.bits("0 0 29 2 *")[2]) == [29]
