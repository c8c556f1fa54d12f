"""Lists of a host whose encoder is gone: by recency as ever, by relevance never in an order that nobody asked for."""

from __future__ import annotations

import pytest

from infinicon.api.wire.discovery import Advertised, to_wire
from infinicon.errors import Unavailable
from infinicon.ports import Vectors
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.store.operations.entry_worlds import contents, listed, put_entry, relevant


class Gone(WordEmbedder):
    """An encoder that does not answer."""

    def embed_query(self, text: str) -> Vectors:
        raise Unavailable(f"the encoder does not answer to {len(text)} characters")


@pytest.fixture
def without_encoder(pipeline: Pipeline) -> Pipeline:
    for content in ("The heron flew at noon.", "The boiler is broken."):
        put_entry(pipeline, content)
    pipeline.drain()
    pipeline.embedder = Gone()
    return pipeline


def test_relevance_is_refused_and_not_answered_in_another_order(without_encoder: Pipeline) -> None:
    assert "search" not in to_wire(Advertised("o200k_base", semantic=False), 5)["memory"]
    with pytest.raises(Unavailable):
        relevant(without_encoder, "heron", token_budget=100)


def test_recency_and_budgets_need_no_encoder(without_encoder: Pipeline) -> None:
    assert to_wire(Advertised("o200k_base", semantic=False), 5)["memory"]["injectionBudget"]["supported"] is True
    assert contents(listed(without_encoder, token_budget=6)) == ["The boiler is broken."]
