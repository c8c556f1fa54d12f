"""Counts are those of the real encoders, also where tiktoken's own matcher gives up, and nothing is fetched for them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken_ext.openai_public as published
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from infinicon.errors import MissingDependency
from infinicon.plugins.counters import CharactersCounter, bpe, damaged
from infinicon.plugins.counters.bpe import CL100K_BASE, O200K_BASE, BpeCounter, Vocabulary

VECTORS = json.loads(
    (Path(__file__).parents[3] / "data" / "token_count_vectors.json").read_text(
        encoding="utf-8", errors="surrogatepass"
    )
)
VOCABULARIES = {vocabulary.name: vocabulary for vocabulary in (O200K_BASE, CL100K_BASE)}

AWKWARD = st.text(st.sampled_from("aZé中1٣ \t\r\n\x0b\u2028-/'.|<>\u0301\u200d\u00a0\ufffd\U0001f469\ud83d"))


@pytest.fixture(scope="module")
def counters() -> dict[str, BpeCounter]:
    return {name: bpe.load(vocabulary) for name, vocabulary in VOCABULARIES.items()}


@pytest.mark.parametrize("name", [*VOCABULARIES, "chars"])
def test_the_vectors_of_the_specification(counters: dict[str, BpeCounter], name: str) -> None:
    count = counters[name].count if name in counters else CharactersCounter().count

    assert len(VECTORS) == 200
    assert [vector["text"][:40] for vector in VECTORS if count(vector["text"]) != vector[name]] == []


@pytest.mark.parametrize("name", VOCABULARIES)
@given(AWKWARD)
def test_both_matchers_cut_alike(counters: dict[str, BpeCounter], name: str, text: str) -> None:
    """The second one takes over where blanks run on; here it is asked for any text."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert counters[name]._count_pieces(whole) == counters[name].count(text)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("run", [" ", "\n \t"])
def test_a_million_blanks(counters: dict[str, BpeCounter], name: str, run: str) -> None:
    """Where tiktoken's matcher still holds, both agree; beyond that a run costs in proportion."""
    within = "Rosa." + run * 40_000 + "Turin"
    beyond = "Rosa." + run * (1_000_000 // len(run)) + "Turin"

    assert counters[name]._count_pieces(within) == counters[name].count(within)
    assert counters[name].count(beyond) > counters[name].count(within)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_what_looks_like_a_special_token_is_text(counters: dict[str, BpeCounter], name: str) -> None:
    assert counters[name].count("<|endoftext|> and <|fim_prefix|>") > 6


@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_patterns_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    asked = {}
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda url, expected_hash: asked.update({url: expected_hash}))

    encoding = published.ENCODING_CONSTRUCTORS[name]()

    assert encoding["pat_str"] == VOCABULARIES[name].pattern
    assert list(asked.values()) == [VOCABULARIES[name].sha256]


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiktoken.load.read_file", None)
    monkeypatch.setattr("tiktoken.load.read_file_cached", None)

    assert bpe.load(O200K_BASE).count("refund policy") == 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's data as a folder that a test may spoil."""
    packed = bpe.FOLDER
    (tmp_path / "vocabularies").mkdir()
    for name in VOCABULARIES:
        file = f"{name}.tiktoken.gz"
        (tmp_path / "vocabularies" / file).write_bytes((packed / file).read_bytes())
    monkeypatch.setattr(bpe, "FOLDER", tmp_path / "vocabularies")
    return tmp_path / "vocabularies"


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1_000])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x20
    file.write_bytes(content)


def _swap(file: Path) -> None:
    """Sound, and of the right form, but other ranks."""
    lines = gzip.decompress(file.read_bytes()).splitlines()
    file.write_bytes(gzip.compress(b"\n".join(lines[:-1])))


@pytest.mark.parametrize("spoil", [Path.unlink, _cut, _flip, _swap, lambda file: file.write_bytes(b"no gzip")])
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
def test_a_missing_or_damaged_vocabulary_is_named_and_spoils_no_other(
    folder: Path, vocabulary: Vocabulary, spoil: Callable[[Path], object]
) -> None:
    assert damaged() == []
    spoil(folder / f"{vocabulary.name}.tiktoken.gz")

    with pytest.raises(MissingDependency, match=rf"{vocabulary.name} is unavailable.*missing or damaged"):
        bpe.load(vocabulary)
    assert damaged() == [vocabulary.name]


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
def test_the_same_as_an_encoding_of_tiktoken(counters: dict[str, BpeCounter], vocabulary: Vocabulary) -> None:
    """What is dropped after loading is not needed for counting."""
    ranks = dict(bpe._lines(bpe._read(vocabulary)))
    encoding = Encoding("again", pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})
    text = "Rosa moved from Lisbon to Turin in May. 漢字 👩\u200d👧 <|endoftext|>\n" * 3

    assert counters[vocabulary.name].count(text) == len(encoding.encode(text, disallowed_special=()))
