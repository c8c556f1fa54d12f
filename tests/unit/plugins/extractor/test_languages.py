"""The language of a text, and full stops that end no sentence."""

from __future__ import annotations

import pytest

from infinicon.plugins.extractor import BuiltinExtractor
from infinicon.plugins.extractor.languages import goes_on, language_of
from infinicon.ports import SourceEpisode


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I live in Berlin and the house is old.", "en"),
        ("Zanzibar", "en"),
        ("Der Termin ist am Montag um 9 Uhr.", "de"),
        ("Il est né dans la rue de la Paix.", "fr"),
        ("Vivo en la Av. Libertador desde hace años.", "es"),
        ("Io sono nato a Roma e non mi piace il mare.", "it"),
        ("Eu não moro em São Paulo com a minha mãe.", "pt"),
        ("Ik woon in het huis van mijn moeder.", "nl"),
        ("Она живёт в Москве.", "ru"),
        ("Він живе у Києві.", "uk"),
        ("彼女は家に帰った。", "ja"),
        ("我们下周一开会。", "zh"),
        ("저는 서울에 살아요.", "ko"),
        ("Μένω στην Αθήνα.", "el"),
        ("I met Наташа in the house of my old friend at the lake.", "en"),
        ("", "en"),
    ],
)
def test_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Zahnarzttermin ist am 3. Mai um 9 Uhr.",
        "Termin: 3. Mai",
        "Deutschland wurde am 3. Oktober 1990 wiedervereinigt.",
        "Im 19. Jahrhundert gab es das nicht.",
        "Zum 50. Geburtstag kam die Familie.",
        "Ludwig XIV. war König.",
        "Wir wohnen Str. 5 bzw. Hausnr. 7.",
        "J'habite av. de la République à Paris.",
        "Il est né le 1er janv. 1980 à Lyon.",
        "Il va à St. Étienne demain.",
        "Он живёт в г. Москва на ул. Ленина.",
        "Vivo en la Av. Libertador desde hace años.",
        "Moro na Av. Paulista com a Dra. Ana.",
        "「行かない。」と彼は言った。",
        "“我不去。”他说。",
        '"Not today." she said quietly.',
    ],
)
def test_one_sentence_is_one_atom(sentence: str) -> None:
    atoms = BuiltinExtractor().extract(SourceEpisode("text/plain", sentence)).atoms

    assert [atom.content for atom in atoms] == [sentence]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Wir wohnen in der Goethestr.", "Das ist schön dort."),
        ("Sie hat davon noch 3.", "Ich habe keine mehr."),
        ("I got only 3.", "May I have more of them?"),
        ("彼は家に行かない。", "彼女は家に帰った。"),
        ("Он живёт на ул. Ленина.", "Она живёт тоже там."),
        ("We met Louis XIV.", "He was the king."),
    ],
)
def test_two_sentences_are_two_atoms(first: str, second: str) -> None:
    between = "" if first.endswith("。") else " "
    atoms = BuiltinExtractor().extract(SourceEpisode("text/plain", first + between + second)).atoms

    assert [atom.content for atom in atoms] == [first, second]


def test_a_sentence_ends_where_nothing_follows() -> None:
    assert not goes_on("am 3. ", 0, 6, "", "de")
    assert not goes_on(" ", 0, 1, "Mai", "de")
