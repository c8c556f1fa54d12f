"""Plug-ins by name."""

from __future__ import annotations

import pytest

from infinicon.errors import MissingDependency
from infinicon.plugins.extractor import BuiltinExtractor
from infinicon.plugins.loader import load_embedder, load_extractor
from infinicon.settings import Settings


def test_the_built_in_extractor_is_found_by_its_entry_point() -> None:
    assert isinstance(load_extractor(Settings()), BuiltinExtractor)


def test_an_unknown_extractor_is_named_with_its_group_and_setting() -> None:
    with pytest.raises(MissingDependency, match=r"INFINICON_EXTRACTOR .*'mine'.* infinicon\.extractors.*builtin"):
        load_extractor(Settings(extractor="mine"))


def test_an_unknown_embedder_is_named_with_its_group_and_setting() -> None:
    with pytest.raises(MissingDependency, match=r"INFINICON_EMBEDDER .*'mine'.* infinicon\.embedders"):
        load_embedder(Settings(embedder="mine"))
