"""The discovery document: closed, and without what does not run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from infinicon.api.wire.discovery import Advertised, OpenwopDiscovery, to_wire

EVERYTHING = Advertised("o200k_base", semantic=True, fixtures=["conformance-noop"])


def test_families_are_at_the_root_and_mirrored() -> None:
    assert to_wire(EVERYTHING, 5) == {
        "protocolVersion": "1.0",
        "supportedEnvelopes": [],
        "schemaVersions": {},
        "limits": {"clarificationRounds": 0, "schemaRounds": 0, "envelopesPerTurn": 0, "maxRequestBodyBytes": 5},
        "memory": {
            "supported": True,
            "injectionBudget": {"supported": True, "tokenCounter": "o200k_base"},
            "search": {"supported": True, "modes": ["semantic"]},
            "attribution": {"supported": True, "emitsWriteEvents": True},
        },
        "agents": {"memoryBackends": ["long-term"], "memoryConsolidation": {"supported": True}},
        "capabilities": {key: to_wire(EVERYTHING, 5)[key] for key in ("memory", "agents")},
        "fixtures": ["conformance-noop"],
    }


@pytest.mark.parametrize("counter", ["o200k_base", "cl100k_base", "chars", "host-defined"])
def test_the_budget_names_its_counter_and_no_rankings(counter: str) -> None:
    found = to_wire(Advertised(counter, semantic=True), 5)["memory"]["injectionBudget"]

    assert found == {"supported": True, "tokenCounter": counter}


def test_without_a_counter_there_is_no_budget_and_without_an_encoder_no_search() -> None:
    assert to_wire(Advertised(None, semantic=True), 5)["memory"].keys() == {"supported", "search"}
    assert to_wire(Advertised("chars", semantic=False), 5)["memory"].keys() == {"supported", "injectionBudget"}


def test_without_the_seam_nothing_of_it_is_told() -> None:
    found = to_wire(Advertised("chars", semantic=True), 5)

    assert "fixtures" not in found
    assert found["memory"].keys() == {"supported", "injectionBudget", "search"}
    assert found["agents"] == {"memoryBackends": ["long-term"]}
    assert found["capabilities"] == {key: found[key] for key in ("memory", "agents")}


@pytest.mark.parametrize("found", [EVERYTHING, Advertised(None, semantic=False)])
def test_it_is_as_its_schema_says(found: Advertised) -> None:
    OpenwopDiscovery.model_validate(to_wire(found, 5))


@pytest.mark.parametrize(
    "path", [(), ("memory",), ("memory", "injectionBudget"), ("memory", "search"), ("agents",), ("limits",)]
)
def test_the_schema_is_closed(path: tuple[str, ...]) -> None:
    document = to_wire(EVERYTHING, 5)
    place: dict[str, Any] = document
    for name in path:
        place = place[name]
    place["more"] = True

    with pytest.raises(ValidationError):
        OpenwopDiscovery.model_validate(document)


def test_a_supported_budget_without_its_counter_is_refused() -> None:
    document = to_wire(EVERYTHING, 5)
    del document["memory"]["injectionBudget"]["tokenCounter"]

    with pytest.raises(ValidationError):
        OpenwopDiscovery.model_validate(document)
