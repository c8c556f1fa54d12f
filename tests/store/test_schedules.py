"""When a consolidation is due: what the database says for a crontab, for an interval, and for each reason of a policy."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from infinicon.operations import crontab
from tests.conftest import Cluster
from tests.store.conftest import Sql


def named(text: str, moment: datetime) -> bool:
    """Whether a crontab names this minute: the plain reading of it, minute by minute."""
    minutes, hours, days, months, weekdays, either = crontab.bits(text)
    day = bool(days >> moment.day & 1)
    weekday = bool(weekdays >> moment.isoweekday() % 7 & 1)
    return (
        bool(minutes >> moment.minute & 1)
        and bool(hours >> moment.hour & 1)
        and bool(months >> moment.month & 1)
        and (day or weekday if either else day and weekday)
    )


def windows(sql: Sql, text: str, after: datetime, before: datetime) -> list[datetime]:
    rows = sql(
        """WITH RECURSIVE fired AS (
               SELECT next_window(%s, %s) AS at
               UNION ALL SELECT next_window(%s, at) FROM fired WHERE at < %s)
           SELECT at FROM fired WHERE at < %s""",
        *(list(crontab.bits(text)), after, list(crontab.bits(text)), before, before),
    )
    return [row[0].astimezone(UTC) for row in rows]


@pytest.mark.parametrize("day", [datetime(2027, 3, 28, tzinfo=UTC), datetime(2027, 10, 31, tzinfo=UTC)])
def test_an_hourly_crontab_comes_24_times_a_day_whatever_the_clocks_of_people_do(
    cluster: Cluster, day: datetime
) -> None:
    bits = list(crontab.bits("0 * * * *"))
    found = []
    with psycopg.connect(cluster.superuser_url) as connection:
        connection.execute("SET search_path = infinicon, public")
        connection.execute("SET timezone = 'Europe/Berlin'")
        at = day - timedelta(seconds=1)
        while at < day + timedelta(days=1):
            ((at,),) = connection.execute("SELECT next_window(%s, %s)", [bits, at]).fetchall()
            found.append(at.astimezone(UTC))

    assert found == [day + timedelta(hours=hour) for hour in range(25)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "*/7 */5 * * *",
            "59 23 28-31 * *",
            "0 0 31 * *",
            "30 12 1,15 * mon",
            "0 6 */2 * 1-5",
            "5 4 29 2 *",
            "0 0 * 6 sun",
        ),
        *("* * 13 * fri", "17 3 1 1 *", "0 0 30 2 3"),
    ],
)
def test_windows_are_the_minutes_that_the_crontab_names(sql: Sql, text: str) -> None:
    dice = random.Random(text)
    begin = datetime(2027, 12, 20, tzinfo=UTC) + timedelta(minutes=dice.randrange(100_000))
    end = begin + timedelta(days=75)
    minutes = (begin.replace(second=0) + timedelta(minutes=number) for number in range(1, 75 * 24 * 60))

    assert windows(sql, text, begin, end) == [moment for moment in minutes if named(text, moment)]


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 29 2 *", "2024-02-29 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2097-01-01 00:00", "2104-02-29 00:00"),
        ("0 0 31 * *", "2027-01-31 00:00", "2027-03-31 00:00"),
        ("59 23 31 12 *", "2027-12-31 23:59", "2028-12-31 23:59"),
        ("0 * * * *", "2027-06-01 12:59:59.999999", "2027-06-01 13:00"),
        ("* * * * *", "2027-06-01 23:59:30", "2027-06-02 00:00"),
        ("*/20 8 * * *", "2027-06-01 08:40", "2027-06-02 08:00"),
    ],
)
def test_ends_of_months_and_of_years(sql: Sql, text: str, after: str, expected: str) -> None:
    ((found,),) = sql("SELECT next_window(%s, %s::timestamptz)", list(crontab.bits(text)), f"{after}Z")

    assert found == datetime.fromisoformat(f"{expected}Z")
