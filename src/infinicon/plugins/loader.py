"""Finds plug-ins by entry point: the settings name them, the installed packages offer them."""

from __future__ import annotations

from importlib.metadata import EntryPoints, entry_points
from typing import cast

from infinicon.errors import Detail, InvalidRequest, MissingDependency
from infinicon.guard import guarded
from infinicon.ports import Consolidator, Embedder, Extractor, TokenCounter
from infinicon.settings import PREFIX, Settings

EXTRACTORS = "infinicon.extractors"
EMBEDDERS = "infinicon.embedders"
COUNTERS = "infinicon.token_counters"
CONSOLIDATORS = "infinicon.consolidators"


def load_extractor(settings: Settings) -> Extractor:
    """The extractor that INFINICON_EXTRACTOR names.

    Raises:
        MissingDependency: no installed package offers it.
        PluginFailed: it could not be imported or built.
    """
    return cast(Extractor, _load(EXTRACTORS, "EXTRACTOR", settings.extractor, settings))


def load_embedder(settings: Settings) -> Embedder:
    """The embedder that INFINICON_EMBEDDER names; this is where a model is read into memory.

    Raises:
        MissingDependency: no installed package offers it, or its model is not there.
        PluginFailed: it could not be imported or built.
    """
    return cast(Embedder, _load(EMBEDDERS, "EMBEDDER", settings.embedder, settings))


def load_consolidator(settings: Settings) -> Consolidator:
    """The consolidator that INFINICON_CONSOLIDATOR names.

    Raises:
        MissingDependency: no installed package offers it.
        PluginFailed: it could not be imported or built.
    """
    return cast(Consolidator, _load(CONSOLIDATORS, "CONSOLIDATOR", settings.consolidator, settings))


def load_token_counter(settings: Settings, name: str) -> TokenCounter:
    """The token counter of that name; this is where a vocabulary is read.

    Raises:
        InvalidRequest: no installed package offers it. The name came from a caller, and is not repeated.
        MissingDependency: its vocabulary is missing or damaged.
        PluginFailed: it could not be imported or built.
    """
    found = entry_points(group=COUNTERS, name=name)
    if not found:
        known: list[Detail] = [*sorted({point.name for point in entry_points(group=COUNTERS)})]
        raise InvalidRequest("there is no token counter of this name", details={"tokenizers": known})
    return cast(TokenCounter, _build(found, name, settings))


def _load(group: str, setting: str, name: str, settings: Settings) -> object:
    found = entry_points(group=group, name=name)
    if not found:
        known = ", ".join(sorted(point.name for point in entry_points(group=group))) or "none"
        raise MissingDependency(
            f"{PREFIX}{setting} names {name!r}, which no installed package offers in the group {group}; there are: {known}"
        )
    return _build(found, name, settings)


def _build(found: EntryPoints, name: str, settings: Settings) -> object:
    # Where two packages offer one name, the order of installation must not decide.
    point = min(found, key=lambda point: point.value)
    factory = guarded("load", name, point.load)
    return guarded("load", name, factory, settings)
