"""Text as lexemes, in all scripts."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinicon.lexemes import STOP_WORDS, VERSION, analyse, lexeme_ids


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("项目代号是银杏叶", "银杏叶"),
        ("会議は梅の間で", "梅の間"),
        ("ห้องประชุมอยู่ชั้นสอง", "ประชุม"),
        ("La réunion est à Nîmes", "reunion nimes"),
        ("cafe\u0301 zu", "CAFÉ"),
        ("مُحَمَّدٌ كَتَبَ الرِّسَالَةَ", "محمد الرسالة"),
        ("שָׁלוֹם עוֹלָם", "שלום עולם"),
        ("Ёлка стоит у окна", "елка"),
        ("Straße nach Łódź", "strasse lodz"),
        ("Ο Οδυσσέας ταξίδεψε", "οδυσσεας"),
        ("zero\u200bwidth", "zerowidth"),
        ("ﬁne ｗｉｄｅ", "fine wide"),
        ("The boilers were moved", "boiler moving"),
        ("It cost 1,000 dollars", "1000"),
        ("Version 2.3.1 of it", "2.3.1"),
        ("٣ كتب", "3"),
        ("हिन्दी में किताब", "किताब"),
        ("記憶🦜", "🦜"),
        ("snake_case_name", "case"),
    ],
)
def test_a_query_meets_its_document(document: str, query: str) -> None:
    asked = set(analyse(query))

    assert asked
    assert asked <= set(analyse(document))


def test_a_particle_does_not_hide_a_korean_stem() -> None:
    shared = set(analyse("감자밭")) & set(analyse("오늘은 감자밭에 갔다"))

    assert shared == {"감자", "자밭"}
    assert "감자밭에" in analyse("오늘은 감자밭에 갔다")


@pytest.mark.parametrize(
    "facts",
    [
        ("猫は庭にいます", "犬は家にいます"),
        ("الاجتماع يوم الأحد", "القطار في الصباح"),
        ("הפגישה ביום ראשון", "הרכבת בבוקר"),
        ("Встреча в среду", "Поезд утром"),
        ("बैठक रविवार को है", "रेलगाड़ी सुबह है"),
        ("ガギグ", "カキク"),
        ("май", "маи"),
    ],
)
def test_different_facts_of_one_script_stay_different(facts: tuple[str, str]) -> None:
    first, second = (set(analyse(fact)) for fact in facts)

    assert first
    assert second
    assert first != second


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert analyse("the gate of the garden") == ["gate", "garden"]
    assert analyse("To be, or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert analyse("It's John's, and I don't know") == ["john", "know"]
    assert 120 <= len(STOP_WORDS) <= 160


def test_order_and_repeats_are_kept() -> None:
    assert analyse("gate, tag, gate") == ["gate", "tag", "gate"]


def test_a_list_of_numbers_is_no_thousand() -> None:
    assert analyse("10,9,8") == ["10", "9", "8"]


def test_ids_are_stable_signed_and_counted() -> None:
    """The number is part of what is stored: if it changes, VERSION must change with it."""
    assert VERSION == "1"
    assert lexeme_ids("gate tag gate") == {851273289: 2, -689200538: 1}
    assert all(-(2**31) <= number < 2**31 for number in lexeme_ids("one two three 銀杏葉"))


@pytest.mark.parametrize("text", ["", " ", "...", "\u200b", "!?", "\u0301"])
def test_text_without_words_has_no_lexemes(text: str) -> None:
    assert analyse(text) == []
    assert not lexeme_ids(text)


def test_long_words_do_not_fill_the_caches() -> None:
    words = ["".join(pair) * 60 for pair in itertools.product("abc", repeat=2)]

    assert analyse(" ".join(words)) == words


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_any_text_can_be_analysed_and_what_is_found_finds_itself(text: str) -> None:
    for lexeme in analyse(text):
        assert lexeme
        assert not any(character.isspace() for character in lexeme)


def test_threads_share_the_stemmer() -> None:
    words = [f"running{letter} moved{letter} boilers{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    expected = [analyse(text) for text in words]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(analyse, words * 20)) == expected * 20
