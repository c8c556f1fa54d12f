"""What every extractor must keep. In a test module:

class TestMine(ExtractorSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def extractor(cls): return MyExtractor()
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from infinicon.domain import Json
from infinicon.errors import InvalidContent
from infinicon.ports import Extraction, Extractor, SourceEpisode

PROSE = "Okay. The gate code is on the blue tag. Rosa moved to Turin in May, and she likes it there!"
TURNS: Json = [
    {"role": "user", "content": "I moved to Rome in spring. My flat is near the river.", "at": "2026-05-01T10:00:00Z"},
    {"speaker": "Ada", "text": "Shall I look for a gym nearby?"},
]
EPISODES = [
    SourceEpisode("text/plain", PROSE, {"speaker": "Ada"}, datetime(2026, 5, 1, tzinfo=UTC)),
    SourceEpisode("text/plain", "会議は梅の間で行います。時間は三時からです。"),
    SourceEpisode("text/plain", "项目代号是银杏叶。我们下周一开会讨论预算问题。"),
    SourceEpisode("text/plain", "La réunion est à Nîmes. Elle commence à neuf heures."),
    SourceEpisode(
        "text/markdown", "# Plan\n\n- **Ship** the demo on Friday.\n- Write to `ops` about it.\n\n```\ncode = 1\n```"
    ),
    SourceEpisode("application/json", TURNS),
    SourceEpisode("application/json", {"a/b": {"c~d": "Three words here and more."}, "n": [1, None, True]}),
]
HOSTILE = [
    "",
    " ",
    "\n\n\n",
    "\x00",
    "\u200b",
    "e" + "\u0301" * 5_000,
    "👩\u200d" * 5_000,
    "[" * 5_000,
    "a" * 50_000,
    "“" * 5_000,
    "```",
    "# ",
]


class ExtractorSuite:
    """Subclass it and provide the fixture `extractor`."""

    @pytest.fixture
    def extractor(self) -> Extractor:
        raise NotImplementedError("provide the fixture `extractor`")

    def test_it_has_a_name_and_a_version(self, extractor: Extractor) -> None:
        assert extractor.name
        assert extractor.version

    def test_it_says_what_it_reads(self, extractor: Extractor) -> None:
        assert extractor.supports("text/plain")
        assert extractor.supports("text/plain; charset=utf-8")
        assert not extractor.supports("image/png")

    @pytest.mark.parametrize("episode", EPISODES)
    def test_atoms_are_word_for_word(self, extractor: Extractor, episode: SourceEpisode) -> None:
        extraction = extractor.extract(episode)

        assert extraction.atoms
        check_spans(episode, extraction)

    @pytest.mark.parametrize("episode", EPISODES)
    def test_equal_input_has_equal_atoms(self, extractor: Extractor, episode: SourceEpisode) -> None:
        assert extractor.extract(episode) == extractor.extract(episode)

    def test_an_atom_keeps_who_and_when(self, extractor: Extractor) -> None:
        spoken, when = extractor.extract(EPISODES[0]).atoms[0], EPISODES[0].occurred_at
        first, *_, last = extractor.extract(EPISODES[5]).atoms

        assert (spoken.speaker, spoken.occurred_at) == ("Ada", when)
        assert (first.speaker, first.occurred_at) == ("user", datetime(2026, 5, 1, 10, tzinfo=UTC))
        assert (last.speaker, last.occurred_at) == ("Ada", None)

    def test_an_episode_is_found_by_what_it_says(self, extractor: Extractor) -> None:
        assert "blue tag" in extractor.extract(EPISODES[0]).searchable
        assert "near the river" in extractor.extract(EPISODES[5]).searchable

    @pytest.mark.parametrize("text", HOSTILE)
    @pytest.mark.parametrize("content_type", ["text/plain", "text/markdown"])
    def test_hostile_text_is_read(self, extractor: Extractor, text: str, content_type: str) -> None:
        episode = SourceEpisode(content_type, text)

        check_spans(episode, extractor.extract(episode))

    @pytest.mark.parametrize("value", [None, 1, 1.5, True, "", [], {}, [[]], {"": ""}, {"role": None, "content": None}])
    def test_any_json_is_read(self, extractor: Extractor, value: Json) -> None:
        episode = SourceEpisode("application/json", value)

        check_spans(episode, extractor.extract(episode))

    def test_text_that_is_none_is_refused_without_an_echo(self, extractor: Extractor) -> None:
        with pytest.raises(InvalidContent) as caught:
            extractor.extract(SourceEpisode("text/plain", {"canary": "CANARY-77"}))

        assert "CANARY" not in str(caught.value.to_wire())

    def test_threads_do_not_disturb_each_other(self, extractor: Extractor) -> None:
        expected = [extractor.extract(episode) for episode in EPISODES]

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(extractor.extract, EPISODES * 20))

        assert found == expected * 20

    @pytest.mark.parametrize("unit", [" ", "a", "a. ", "\n", "[](", "* a\n", "中。", "> "])
    def test_time_grows_with_length_and_not_its_square(self, extractor: Extractor, unit: str) -> None:
        def work(size: int) -> Callable[[], object]:
            episode = SourceEpisode("text/markdown", unit * (size // len(unit)))
            return lambda: extractor.extract(episode)

        # Eight times the text takes 64 times as long where time grows with the square.
        assert fastest(work(80_000)) < 30 * max(fastest(work(10_000)), 1e-3)


def check_spans(episode: SourceEpisode, extraction: Extraction) -> None:
    """Every atom is its span, none is blank, and spans of one string come in order."""
    for atom in extraction.atoms:
        source = resolve(episode.content, atom.span.path)
        assert isinstance(source, str)
        assert source[atom.span.start : atom.span.end] == atom.content
        assert atom.content.strip()
        assert atom.occurred_at is None or atom.occurred_at.tzinfo is not None
    for first, second in pairwise(extraction.atoms):
        assert first.span.path != second.span.path or first.span.end <= second.span.start


def resolve(content: Json, pointer: str) -> Json:
    """The value that a JSON Pointer (RFC 6901) points to."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(content, list):
            content = content[int(key)]
        else:
            assert isinstance(content, dict)
            content = content[key]
    return content


def fastest(call: Callable[[], object], tries: int = 3) -> float:
    """CPU seconds of this thread: a busy machine does not count."""
    times = []
    for _ in range(tries):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times)
