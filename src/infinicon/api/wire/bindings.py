"""Bindings of memoryRefs on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import strict_json
from infinicon.api.wire.shared import Name, Scope, Time, scope_of, scope_to_wire, time_to_wire
from infinicon.api.wire.validate import Body, check

BINDINGS_USUAL = 100
BINDINGS_MOST = 1_000


class BoundScope(Scope):
    """A scope that takes no unknown members."""

    model_config = ConfigDict(extra="forbid")


class BindRequest(Body):
    """Members that are not known here are refused, also in the scope: one that was passed over would bind more than was meant."""

    model_config = ConfigDict(extra="forbid")

    memory_ref: Name
    scope: BoundScope
    """For what the memoryRef stands from now on; without filters."""


class Binding(Body):
    memory_ref: str
    scope: Scope
    created_at: Time


class BindReply(Body):
    binding: Binding


class BindingsReply(Body):
    bindings: list[Binding]
    """By memoryRef, in the order of code points."""
    more: bool
    """Whether there are others behind these: ask again with `after`, the last memoryRef of this page."""


class UnbindReply(Body):
    deleted: bool
    """Whether there was a binding. The memoryRef stands for the namespace of its name now; no memory is deleted."""


class After(Body):
    after: Name | SkipJsonSchema[None] = None


def after(parameters: Mapping[str, str]) -> str:
    """Behind which memoryRef a page begins; "" for the first. Raises InvalidRequest."""
    return check(After, {name: parameters[name] for name in ("after",) if name in parameters}, "parameters").after or ""


def parse(body: bytes) -> tuple[str, domain.Scope]:
    """A memoryRef and the scope for it. Raises InvalidRequest."""
    sent = check(BindRequest, strict_json.loads(body))
    return sent.memory_ref, scope_of(sent.scope)


def to_wire(binding: domain.Binding) -> dict[str, Any]:
    return {
        "memoryRef": binding.memory_ref,
        "scope": scope_to_wire(binding.scope),
        "createdAt": time_to_wire(binding.created_at),
    }


def page_to_wire(found: Sequence[domain.Binding], *, more: bool) -> dict[str, Any]:
    return {"bindings": [to_wire(binding) for binding in found], "more": more}
