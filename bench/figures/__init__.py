"""The figures, in the order in which they are measured and told. A new one is a module here and a line in FIGURES."""

from __future__ import annotations

from bench.figure import Figure
from bench.figures import (
    acceptance,
    consolidation_context,
    consolidation_precision,
    encoding,
    memory,
    pipeline,
    query_beside_bulk,
    recall_beam,
    recall_locomo,
)

FIGURES: tuple[Figure, ...] = (
    pipeline.FIGURE,
    acceptance.FIGURE,
    query_beside_bulk.FIGURE,
    memory.FIGURE,
    # What follows loads the model into this very process, which should not be there while others are timed.
    encoding.FIGURE,
    recall_locomo.FIGURE,
    recall_beam.FIGURE,
    consolidation_precision.FIGURE,
    consolidation_context.FIGURE,
)
