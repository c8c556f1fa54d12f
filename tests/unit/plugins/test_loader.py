"""Plug-ins by name."""

from __future__ import annotations

import pytest

from infinicon.errors import InvalidRequest, MissingDependency
from infinicon.plugins.consolidator import BuiltinConsolidator
from infinicon.plugins.extractor import BuiltinExtractor
from infinicon.plugins.loader import load_consolidator, load_embedder, load_extractor, load_token_counter
from infinicon.settings import Settings


def test_the_built_in_extractor_is_found_by_its_entry_point() -> None:
    assert isinstance(load_extractor(Settings()), BuiltinExtractor)


def test_an_unknown_extractor_is_named_with_its_group_and_setting() -> None:
    with pytest.raises(MissingDependency, match=r"INFINICON_EXTRACTOR .*'mine'.* infinicon\.extractors.*builtin"):
        load_extractor(Settings(extractor="mine"))


def test_the_built_in_consolidator_is_found_by_its_entry_point() -> None:
    assert isinstance(load_consolidator(Settings()), BuiltinConsolidator)


def test_an_unknown_consolidator_is_named_with_its_group_and_setting() -> None:
    with pytest.raises(MissingDependency, match=r"INFINICON_CONSOLIDATOR .*'mine'.* infinicon\.consolidators.*builtin"):
        load_consolidator(Settings(consolidator="mine"))


def test_an_unknown_embedder_is_named_with_its_group_and_setting() -> None:
    with pytest.raises(MissingDependency, match=r"INFINICON_EMBEDDER .*'mine'.* infinicon\.embedders"):
        load_embedder(Settings(embedder="mine"))


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "chars"])
def test_token_counters_are_found_by_their_names(name: str) -> None:
    counter = load_token_counter(Settings(), name)

    assert counter.name == name
    assert counter.count("a") == 1


def test_an_unknown_token_counter_is_not_repeated_and_the_known_ones_are() -> None:
    with pytest.raises(InvalidRequest) as refused:
        load_token_counter(Settings(), "gpt-secret")

    assert "gpt-secret" not in str(refused.value.to_wire())
    assert set(refused.value.details["tokenizers"]) >= {"o200k_base", "cl100k_base", "chars"}  # type: ignore[arg-type] # a list of names
