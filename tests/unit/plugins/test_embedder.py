"""The embedder's own arithmetic; what needs a model is in tests/contract."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from infinicon.errors import InvalidContent, MissingDependency
from infinicon.plugins.embedder import SentenceTransformersEmbedder, _check, _unit, load
from infinicon.settings import Settings


def batches(lengths: list[int], *, tokens: int = 1_000, texts: int = 100) -> list[list[int]]:
    embedder = object.__new__(SentenceTransformersEmbedder)
    embedder._batch_tokens, embedder._batch_texts = tokens, texts
    return [batch.tolist() for batch in embedder._batches(np.array(lengths))]


def test_a_batch_holds_texts_of_nearly_one_length() -> None:
    lengths = [10] * 20 + [100] * 20 + [9] * 20
    found = batches(lengths, tokens=10_000)

    assert sorted(at for batch in found for at in batch) == list(range(60))
    assert [{lengths[at] for at in batch} for batch in found] == [{100}, {10, 9}]


def test_a_batch_is_bounded_by_padded_tokens_and_by_texts() -> None:
    assert all(len(batch) <= 10 for batch in batches([100] * 35))
    assert all(len(batch) <= 7 for batch in batches([2] * 35, texts=7))


def test_one_text_over_the_bound_is_a_batch() -> None:
    assert batches([5_000, 5_000]) == [[0], [1]]


def test_a_few_texts_of_many_lengths_do_not_each_make_a_batch() -> None:
    assert len(batches([1, 2, 4, 8, 16, 32, 64])) == 1


def test_vectors_are_made_unit_length() -> None:
    vectors = _unit(np.array([[3, 4], [0.3, 0.4]], np.float32))

    assert vectors.dtype == np.float16
    assert np.allclose(vectors.astype(np.float32), [[0.6, 0.8], [0.6, 0.8]], atol=1e-3)


@pytest.mark.parametrize("bad", [[0, 0], [np.nan, 1], [np.inf, 1], [1e-9, 0]])
def test_a_vector_without_direction_is_a_fault_of_content(bad: list[float]) -> None:
    with pytest.raises(InvalidContent) as caught:
        _unit(np.array([[1, 0], bad], np.float32))

    assert caught.value.details == {"index": 1}


def test_a_lone_surrogate_is_told_from_an_emoji() -> None:
    _check(["👨‍👩‍👧", "plain"])
    with pytest.raises(InvalidContent) as caught:
        _check(["plain", "tail \ud83d"])

    assert caught.value.details == {"index": 1}


def test_a_missing_model_is_named_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="INFINICON_MODEL"):
        load(Settings(model=f"path:{tmp_path}"))


def test_importing_it_does_not_import_torch() -> None:
    code = "import sys, infinicon.plugins.embedder, infinicon.encoder.client; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False).returncode == 0
