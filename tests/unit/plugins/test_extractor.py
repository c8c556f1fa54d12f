"""Episodes as atoms."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infinicon.domain import Json, Span
from infinicon.errors import InvalidContent
from infinicon.plugins.extractor import BuiltinExtractor, supports
from infinicon.ports import Extraction, SourceEpisode

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def extract(content: Json, content_type: str = "text/plain", **metadata: Json) -> Extraction:
    return BuiltinExtractor().extract(SourceEpisode(content_type, content, metadata, NOON))


def contents(content: Json, content_type: str = "text/plain") -> list[str]:
    return [atom.content for atom in extract(content, content_type).atoms]


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "TEXT/Plain; charset=utf-8",
        "text/markdown",
        "text/csv",
        "application/json",
        "application/ld+json",
    ],
)
def test_what_is_read(content_type: str) -> None:
    assert supports(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text",
        "text/",
        "image/png",
        "application/pdf",
        "application/jsonp",
        "text/html",
        "TEXT/HTML; charset=utf-8",
        "image/svg+xml",
        "text/xml",
        "video/x+json",
    ],
)
def test_what_is_not_read(content_type: str) -> None:
    assert not supports(content_type)
    with pytest.raises(InvalidContent):
        extract("text", content_type)


def test_an_atom_is_a_sentence_with_its_span_speaker_and_time() -> None:
    (atom,) = extract("Okay. P11, Jim.", speaker="CC").atoms

    assert (atom.content, atom.span, atom.speaker, atom.occurred_at) == ("P11, Jim.", Span(6, 15), "CC", NOON)


def test_the_speaker_may_come_from_the_role() -> None:
    assert extract("We moved to Rome.", role=" the \n user ").speaker == "the user"
    assert extract("We moved to Rome.", role=3).speaker is None


def test_a_time_without_a_zone_is_ignored() -> None:
    naive = datetime(2026, 5, 1)  # noqa: DTZ001 - the point of the test
    extraction = BuiltinExtractor().extract(SourceEpisode("text/plain", "We moved to Rome.", {}, naive))

    assert extraction.atoms[0].occurred_at is None


def test_pure_filler_has_no_atom_and_is_still_searchable() -> None:
    extraction = extract("Roger. Copy that.")

    assert extraction.atoms == []
    assert extraction.searchable == "Roger. Copy that."
    assert not extraction.whole


def test_one_atom_may_say_all() -> None:
    assert extract("Okay. The hatch is closed. Over.").whole
    assert not extract("The hatch is closed. The valve is open.").whole
    assert not extract("The hatch is closed.\n```\ncode\n```").whole


def test_equal_sentences_are_one_atom() -> None:
    assert contents("The hatch is closed. The valve is open. The hatch is closed.") == [
        "The hatch is closed.",
        "The valve is open.",
    ]


def test_no_atom_is_longer_than_a_thousand_characters() -> None:
    found = contents("one long clause, " * 200)

    assert len(found) > 1
    assert all(len(content) <= 1_000 for content in found)


def test_plain_text_has_no_markup_to_lose() -> None:
    assert extract("The **bold** claim [stays](here).").searchable == "The **bold** claim [stays](here)."


def test_markdown_is_searched_without_its_markup() -> None:
    extraction = extract(
        "# The plan\n\n- **Ship** it on [Friday](http://x.example).\n\n```py\na_b = 1\n```", "text/markdown"
    )

    assert extraction.searchable == "The plan\n\nShip it on Friday (http://x.example).\n\npy\na_b = 1"
    assert [atom.content for atom in extraction.atoms] == ["**Ship** it on [Friday](http://x.example)."]


@pytest.mark.parametrize("content", [None, 1, ["CANARY-77"], {"canary": "CANARY-77"}])
def test_text_must_be_a_string(content: Json) -> None:
    with pytest.raises(InvalidContent) as caught:
        extract(content)

    assert "CANARY" not in str(caught.value.to_wire())


def test_turns_name_their_speakers_where_there_are_several_passages() -> None:
    turns: Json = [{"role": "user", "content": "I moved to Rome."}, {"role": "assistant", "content": "Okay."}]
    extraction = extract(turns, "application/json")

    assert extraction.searchable == "user: I moved to Rome.\nassistant: Okay."
    assert extraction.speaker is None
    assert [(atom.content, atom.speaker, atom.span.path) for atom in extraction.atoms] == [
        ("I moved to Rome.", "user", "/0/content")
    ]


def test_one_turn_is_its_speakers() -> None:
    extraction = extract({"role": "user", "content": "I moved to Rome."}, "application/json")

    assert (extraction.searchable, extraction.speaker, extraction.whole) == ("I moved to Rome.", "user", True)


def test_json_without_turns_has_the_episodes_speaker() -> None:
    extraction = extract({"note": "The boiler is in the cellar.", "floor": -1}, "application/json", speaker="Ada")

    assert extraction.searchable == "The boiler is in the cellar.\nfloor: -1"
    assert extraction.speaker == "Ada"
    assert not extraction.whole


def test_each_speaker_of_a_sentence_has_an_atom() -> None:
    turns: Json = [{"speaker": name, "text": "I live in Berlin."} for name in ("Anna", "Ben", "Anna")]

    atoms = extract(turns, "application/json").atoms
    assert [(atom.speaker, atom.span.path) for atom in atoms] == [("Anna", "/0/text"), ("Ben", "/1/text")]


@pytest.mark.parametrize("text", ["https://example.com/a/b?q=1", '{"city": "Rome in the spring"}', '[{"a": 1}]'])
def test_addresses_and_json_are_no_atoms_and_are_found(text: str) -> None:
    given: list[tuple[Json, str]] = [(text, "text/plain"), ({"role": "user", "content": text}, "application/json")]
    for content, content_type in given:
        extraction = extract(content, content_type)
        assert extraction.atoms == []
        assert text in extraction.searchable


def test_what_is_left_out_keeps_the_episode_searchable() -> None:
    for text in (
        "# Title\n\nWe moved to Rome.",
        "[a]: http://x.example\n\nWe moved to Rome.",
        "[We moved to Rome](http://x.example)",
    ):
        extraction = extract(text, "text/markdown")
        assert len(extraction.atoms) == 1
        assert not extraction.whole


def test_a_row_is_one_atom() -> None:
    assert contents("Anna,Likes tea. Hates coffee.\nBen,Lives in Rome", "text/csv") == [
        "Anna,Likes tea. Hates coffee.",
        "Ben,Lives in Rome",
    ]
    assert contents("| A | B |\n|--|--|\n| Anna | Likes tea. Hates it. |", "text/markdown") == [
        "Anna | Likes tea. Hates it."
    ]
