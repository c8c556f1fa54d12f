"""What GET /.well-known/openwop tells. Every object is closed: what it does not say is not supported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from infinicon.api.wire.shared import present
from infinicon.api.wire.validate import Body

PROTOCOL_VERSION = "1.0"

BACKENDS = ("long-term",)
MODES = ("semantic",)


class Closed(Body):
    model_config = ConfigDict(extra="forbid")


class InjectionBudget(Closed):
    """Lists take a tokenBudget. How they can be ranked is said by `search`."""

    supported: Literal[True]
    token_counter: Literal["o200k_base", "cl100k_base", "chars", "host-defined"]
    """What a tokenBudget counts."""


class Search(Closed):
    """Lists may be ranked by relevance."""

    supported: Literal[True]
    modes: list[Literal["semantic"]]


class Attribution(Closed):
    """A run tells of every entry that it writes, by its id."""

    supported: Literal[True]
    emits_write_events: Literal[True]


class MemoryFamily(Closed):
    supported: Literal[True]
    injection_budget: InjectionBudget | SkipJsonSchema[None] = None
    """Absent while the token counter is missing or damaged."""
    search: Search | SkipJsonSchema[None] = None
    """Absent while the encoder does not answer."""
    attribution: Attribution | SkipJsonSchema[None] = None
    """Only where the conformance seam is mounted."""


class MemoryConsolidation(Closed):
    """A pass can be asked for, and a second one changes nothing."""

    supported: Literal[True]


class AgentsFamily(Closed):
    memory_backends: list[Literal["long-term"]]
    memory_consolidation: MemoryConsolidation | SkipJsonSchema[None] = None
    """Only where the conformance seam is mounted: POST /v0/consolidate is there in any case."""


class Families(Closed):
    memory: MemoryFamily
    agents: AgentsFamily


class OpenwopLimits(Closed):
    """There are no envelopes and no turns here, hence the zeros."""

    clarification_rounds: Literal[0]
    schema_rounds: Literal[0]
    envelopes_per_turn: Literal[0]
    max_request_body_bytes: int


class OpenwopDiscovery(Closed):
    """Capabilities of OpenWOP that run here, now."""

    protocol_version: str
    supported_envelopes: list[str]
    schema_versions: dict[str, int]
    limits: OpenwopLimits
    memory: MemoryFamily
    agents: AgentsFamily
    capabilities: Families
    """The same families once more, for readers that look for them here."""
    fixtures: list[str] | SkipJsonSchema[None] = None
    """Only where the conformance seam is mounted: the workflows that it runs."""


@dataclass(frozen=True, slots=True)
class Advertised:
    """What runs now. `token_counter` None: nothing can be counted; `fixtures` None: the conformance seam is not mounted."""

    token_counter: str | None
    semantic: bool
    fixtures: Sequence[str] | None = None


def to_wire(found: Advertised, max_body_bytes: int) -> dict[str, Any]:
    families = {"memory": _memory(found), "agents": _agents(found)}
    return present(
        protocolVersion=PROTOCOL_VERSION,
        supportedEnvelopes=[],
        schemaVersions={},
        limits={
            "clarificationRounds": 0,
            "schemaRounds": 0,
            "envelopesPerTurn": 0,
            "maxRequestBodyBytes": max_body_bytes,
        },
        **families,
        capabilities=families,
        fixtures=None if found.fixtures is None else list(found.fixtures),
    )


def _memory(found: Advertised) -> dict[str, Any]:
    counted = found.token_counter is not None
    return present(
        supported=True,
        injectionBudget={"supported": True, "tokenCounter": found.token_counter} if counted else None,
        search={"supported": True, "modes": list(MODES)} if found.semantic else None,
        attribution=None if found.fixtures is None else {"supported": True, "emitsWriteEvents": True},
    )


def _agents(found: Advertised) -> dict[str, Any]:
    return present(
        memoryBackends=list(BACKENDS),
        memoryConsolidation=None if found.fixtures is None else {"supported": True},
    )
