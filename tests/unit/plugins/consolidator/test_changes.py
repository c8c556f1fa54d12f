"""What a later statement retires, and what it leaves alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.plugins.consolidator.talk import told


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Rosa lives in Rome.", "Rosa moved to Turin in January."),
        ("I live in Rome.", "I have moved from Rome to Turin, and I like it there."),
        ("My sister lives in Rome.", "My sister now lives in Turin."),
        ("I work at Acme.", "I now work at Globex."),
        ("I work at Acme.", "I no longer work at Acme."),
        ("I work at Acme.", "I don't work at Acme anymore."),
        ("I eat meat.", "I don't eat meat any more."),
        ("I smoke.", "I stopped smoking."),
        ("We use Postgres.", "We switched from Postgres to MySQL."),
        ("The gate code is 4711.", "The gate code is now 4712."),
        ("The server is in Frankfurt.", "The server is now in Dublin."),
        ("My favourite town is Rome.", "My favourite town is now Turin."),
        ("The venue is the town hall.", "We changed the venue to the harbour."),
        ("The meeting is on Monday.", "The meeting was moved to Tuesday."),
        ("The deadline is May 5.", "The deadline is now May 9."),
        ("The budget is $500.", "The budget was raised to $700."),
        ("I have a budget of $1,250 for the laptop.", "I raised my laptop budget to $1,300, is that wise?"),
        ("The team has 5 members.", "The team now has seven members."),
        ("The office closes at 5 PM.", "The office now closes at 6 PM."),
        ("I cut the baking time from 50 to 40 minutes.", "I cut the baking time to 35 minutes."),
        ("Tank 1 is at 300.", "Tank 1 is now at 200."),
    ],
)
def test_a_later_value_of_the_same_attribute_supersedes(before: str, after: str) -> None:
    assert told(before, after) == ["0>1"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Rosa moved to Turin.", "The boiler moved to the cellar."),
        ("Rosa lives in Rome.", "Rosa moved to marketing."),
        ("Rosa lives in Rome.", "Rosa moved to the Turin team."),
        ("Rosa lives in Rome.", "Ben moved to Turin."),
        ("My sister lives in Rome.", "My brother moved to Turin."),
        ("The boiler lives in Rome.", "The boiler moved to Turin."),
        ("I like coffee.", "I like tea now."),
        ("I drive a Fiat.", "I now drive a Tesla."),
        ("We use Postgres.", "We switched from Oracle to MySQL."),
        ("My budget is $500.", "Ben's budget is now $700."),
        ("Anna has 20 dollars.", "Ben now has 30 dollars."),
        ("Room 5 has 20 seats.", "Room 7 now has 30 seats."),
        ("The red team has 20 points.", "The blue team now has 30 points."),
        ("The car costs 20 euros.", "The bike now costs 30 euros."),
        ("My rent is 900 euros a month.", "My salary was raised to 1200 euros a month."),
        ("The first deadline is May 5.", "The second deadline is now May 9."),
        ("The meeting with Anna is on Monday.", "The meeting with Ben was moved to Tuesday."),
        ("The price is 20 euros.", "The price rose 5 euros."),
        ("The price is 20 euros.", "Sales rose from 15 to 18 euros."),
        ("I have spent $90 on books, $30 on maps and $20 on pens of my $200 budget.", "My budget is now $250."),
        ("It is going through 125 pounds now.", "It is going through 50 pounds now."),
    ],
)
def test_other_subjects_and_attributes_are_left_alone(before: str, after: str) -> None:
    assert told(before, after) == []


@pytest.mark.parametrize(
    "after",
    [
        "Would I move to Turin?",
        "Should I say that I moved to Turin?",
        "I might have moved to Turin.",
        "I want to move to Turin.",
        "I am going to move to Turin.",
        "I am planning a life in Turin.",
        "Bob says I moved to Turin.",
        "According to Bob I moved to Turin.",
        "I dreamed that I moved to Turin.",
        "If I moved to Turin, I would be happy.",
        "I have not moved to Turin.",
        "You moved to Turin.",
    ],
)
def test_questions_plans_guesses_and_hearsay_retire_nothing(after: str) -> None:
    assert told("I live in Rome.", after) == []


def test_what_one_says_of_oneself_is_not_the_others() -> None:
    assert told("I live in Rome.", "I moved to Turin.", speakers=["ada", "bob"]) == []
    assert told("The gate code is 4711.", "The gate code is now 4712.", speakers=["ada", "bob"]) == []


def test_an_order_in_time_is_asked_for() -> None:
    assert told("The gate code is 4711.", "The gate code is now 4712.", apart=timedelta(0)) == ["0?1"]
    assert told("The gate code is now 4712.", "The gate code is 4711.") == []


def test_each_is_superseded_by_the_next() -> None:
    assert told("I live in Rome.", "I moved to Turin.", "I moved to Lyon.") == ["0>1", "1>2"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Rosa lives in Rome.", "Rosa lives in Turin."),
        ("The gate code is 4711.", "The gate code is 4712."),
        ("Rosa is allergic to nuts.", "Rosa is not allergic to nuts."),
        ("The window of the cellar is open.", "The window of the cellar isn't open."),
        ("I met Kyle at a sneaker expo in Bridgetown.", "I've never met Kyle at any sneaker expo."),
    ],
)
def test_what_contradicts_without_a_word_of_change_is_disputed(first: str, second: str) -> None:
    assert told(first, second) == ["0?1"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I've never met Kyle at any sneaker expo.", "I met Kyle at a sneaker expo in Bridgetown."),
        ("Rosa liked the harbour.", "Rosa does not like the harbour."),
        ("The dog licks the baby.", "The baby licks the dog."),
        ("The window is open.", "The door is not open."),
        ("I work at Acme.", "I work at Globex."),
    ],
)
def test_what_can_both_be_true_is_not_disputed(first: str, second: str) -> None:
    assert told(first, second) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Rosa wohnt in Rom.", "Rosa wohnt jetzt in Turin."),
        ("Der Code ist 4711.", "Der Code ist nicht 4711."),
        ("Die Sitzung ist am Montag.", "Die Sitzung ist am Dienstag."),
        ("J'habite à Nîmes.", "J'habite maintenant à Lyon."),
        ("La réunion est à neuf heures.", "La réunion n'est pas à neuf heures."),
        ("我住在罗马。", "我现在住在都灵。"),
        ("会议在星期一。", "会议不在星期一。"),
    ],
)
def test_of_other_languages_nothing_is_said_that_is_wrong(first: str, second: str) -> None:
    assert told(first, second) == []
