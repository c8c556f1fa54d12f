"""The built-in consolidator: duplicates, later statements, contradictions and digests, without a model. Deterministic: an equal input, in
whatever order, gives an equal plan.
"""

from __future__ import annotations

from infinicon.plugins.consolidator.duplicates import duplicates
from infinicon.ports import ConsolidationInput, Plan
from infinicon.settings import Settings


def load(settings: Settings) -> BuiltinConsolidator:  # noqa: ARG001 - the signature of an entry point; there is nothing to set
    return BuiltinConsolidator()


class BuiltinConsolidator:
    """Implements ports.Consolidator. Without state: safe in any number of threads."""

    name = "builtin"
    version = "1"
    deterministic = True

    def consolidate(self, request: ConsolidationInput) -> Plan:
        return Plan(duplicates=duplicates(request.memories))
