"""The built-in consolidator: duplicates, later statements, contradictions and digests, without a model.

Deterministic: an equal input, in whatever order, gives an equal plan. It retires a memory only where words say so; vectors say no more
than which memories are worth a comparison. docs/consolidation.md tells what it does, docs/decisions/0012 what was measured.
"""

from __future__ import annotations

from infinicon.domain import MemoryType
from infinicon.plugins.consolidator.digests import Scene, digests
from infinicon.plugins.consolidator.judging import Judgement, judge
from infinicon.plugins.consolidator.limits import LIMITS, Limits
from infinicon.plugins.consolidator.neighbours import unit
from infinicon.plugins.consolidator.statements import Statement
from infinicon.ports import ConsolidationInput, Plan
from infinicon.settings import Settings


def load(settings: Settings) -> BuiltinConsolidator:  # noqa: ARG001 - the signature of an entry point; there is nothing to set
    return BuiltinConsolidator()


class BuiltinConsolidator:
    """Implements ports.Consolidator. Without state: safe in any number of threads."""

    name = "builtin"
    version = "2"
    deterministic = True

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits

    def consolidate(self, request: ConsolidationInput) -> Plan:
        # In order of key: what follows is the same for every order of the input, to the last bit of a matrix product.
        order = sorted(range(len(request.memories)), key=lambda at: request.memories[at].key)
        memories = [request.memories[at] for at in order]
        if not any(memory.fresh for memory in memories):
            return Plan()
        matrix = unit(request.vectors)[order]
        atoms = [at for at, memory in enumerate(memories) if memory.type is MemoryType.ATOM]
        statements = [Statement(memories[at]) for at in atoms]
        judgement = judge(statements, matrix[atoms], self._limits) if statements else Judgement()
        unfit = judgement.unfit
        living = [
            at for at, one in enumerate(statements) if one.telling and one.key not in unfit and not one.memory.disputed
        ]
        scene = Scene(
            [statements[at] for at in living],
            matrix[atoms][living],
            [memory for memory in memories if memory.type is MemoryType.CONSOLIDATION],
            frozenset(one.old for one in judgement.supersessions),
            request.token_budget,
            request.count,
        )
        return Plan(digests(scene), judgement.supersessions, judgement.disputes, judgement.duplicates)
