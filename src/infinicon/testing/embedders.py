"""What every embedder must keep. In a test module:

class TestMine(EmbedderSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls): return MyEmbedder()
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from infinicon.errors import InvalidContent
from infinicon.ports import Embedder, Vectors

SHORT = [
    "The gate code is on the blue tag.",
    "Rosa moved to Turin.",
    "Okay.",
    "The boiler is in the cellar now.",
    "会議は梅の間で",
    "",
    "🦜",
]
LONG = [
    " ".join(f"Sentence number {n} says that the valve {n} was closed at minute {n}." for n in range(150)),
    "x" * 12_000,
    "我爱你" * 2_000,
    "가나다" * 500,
    "a\n\n" * 3_000,
    "word " * 5_000,
]


class EmbedderSuite:
    """Subclass it and provide the fixture `embedder`."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("provide the fixture `embedder`")

    def test_it_says_what_model_it_is(self, embedder: Embedder) -> None:
        model = embedder.model

        assert model.name
        assert model.revision
        assert model.dimension > 0
        assert model.max_tokens > 0

    def test_vectors_have_the_promised_shape_and_unit_length(self, embedder: Embedder) -> None:
        vectors = embedder.embed(SHORT)

        assert vectors.dtype == np.float16
        assert vectors.shape == (len(SHORT), embedder.model.dimension)
        assert np.allclose(np.linalg.norm(vectors.astype(np.float32), axis=1), 1, atol=2e-3)

    def test_no_text_has_no_vector(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.model.dimension)
        assert embedder.chunk([]) == []

    def test_a_query_is_one_row(self, embedder: Embedder) -> None:
        assert embedder.embed_query(SHORT[0]).shape == (1, embedder.model.dimension)

    def test_a_query_finds_what_it_means(self, embedder: Embedder) -> None:
        found = _cosines(
            np.repeat(embedder.embed_query("Where is the code of the gate?"), 4, axis=0), embedder.embed(SHORT[:4])
        )

        assert int(np.argmax(found)) == 0

    def test_order_is_kept_and_neighbours_do_not_matter(self, embedder: Embedder) -> None:
        texts = [*SHORT, LONG[0][:900], *reversed(SHORT)]

        together = embedder.embed(texts)
        alone = np.concatenate([embedder.embed([text]) for text in texts])

        assert _cosines(together, alone).min() >= 0.999

    def test_short_text_is_one_span(self, embedder: Embedder) -> None:
        assert [[(span.start, span.end) for span in spans] for spans in embedder.chunk(SHORT[:4])] == [
            [(0, len(text))] for text in SHORT[:4]
        ]

    @pytest.mark.parametrize("text", [*SHORT, *LONG, "   ", "\n"])
    def test_chunks_cover_the_text(self, embedder: Embedder, text: str) -> None:
        (spans,) = embedder.chunk([text])

        assert spans
        assert not text[: spans[0].start].strip()
        assert not text[spans[-1].end :].strip()
        for first, second in pairwise(spans):
            assert first.start < first.end <= second.start
            assert not text[first.end : second.start].strip()

    def test_chunks_are_read_to_their_end(self, embedder: Embedder) -> None:
        """A model that cuts silently gives a chunk and the chunk without its end the same vector."""
        (spans,) = embedder.chunk([LONG[0]])
        chunks = [LONG[0][span.start : span.end] for span in spans]
        words = [chunk.rsplit(" ", 8)[0] for chunk in chunks]

        assert len(chunks) > 1
        assert (_cosines(embedder.embed(chunks), embedder.embed(words)) < 0.99999).all()

    def test_long_text_is_embedded(self, embedder: Embedder) -> None:
        assert embedder.embed(LONG).shape == (len(LONG), embedder.model.dimension)

    def test_a_lone_surrogate_is_a_fault_of_content(self, embedder: Embedder) -> None:
        with pytest.raises(InvalidContent) as caught:
            embedder.embed(["fine", "CANARY \ud83d"])

        assert "CANARY" not in str(caught.value.to_wire())

    def test_threads_do_not_disturb_each_other(self, embedder: Embedder) -> None:
        expected = embedder.embed(SHORT)

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(embedder.embed, [SHORT] * 16))
            chunked = list(threads.map(embedder.chunk, [LONG[:2]] * 16))

        assert min(_cosines(expected, vectors).min() for vectors in found) >= 0.999
        assert all(chunks == chunked[0] for chunks in chunked)


def _cosines(first: Vectors, second: Vectors) -> NDArray[np.float32]:
    return np.asarray(np.sum(first.astype(np.float32) * second.astype(np.float32), axis=1))
