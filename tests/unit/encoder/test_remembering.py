"""A question that was asked before has the vector that it had."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from infinicon.encoder.remembering import Remembered
from infinicon.errors import Unavailable
from infinicon.ports import Vectors


class Wavering:
    """Never gives the same twice."""

    def __init__(self) -> None:
        self.calls = count(1)

    def __call__(self, text: str) -> Vectors:
        return np.array([[next(self.calls), len(text)]], np.float16)


def test_the_first_vector_stays() -> None:
    remembered = Remembered(Wavering())

    first = remembered("gate").tolist()
    assert remembered("lantern").tolist() != first
    assert remembered("gate").tolist() == first
    assert remembered("\ud800").tolist() == remembered("\ud800").tolist()


def test_the_oldest_are_forgotten() -> None:
    remembered = Remembered(Wavering(), most=2)
    first = remembered("a").tolist()
    remembered("b")
    assert remembered("a").tolist() == first
    remembered("c")  # the one that was not asked for the longest is b
    assert remembered("a").tolist() == first
    assert remembered("b").tolist() == [[4, 1]]


def test_a_fault_is_not_kept() -> None:
    faults = iter([Unavailable("try again")])

    def embed(text: str) -> Vectors:
        for fault in faults:
            raise fault
        return np.array([[1, len(text)]], np.float16)

    remembered = Remembered(embed)
    with pytest.raises(Unavailable):
        remembered("gate")
    assert remembered("gate").tolist() == [[1, 4]]


def test_who_asks_at_once_gets_the_same() -> None:
    wavering = Wavering()
    together = threading.Barrier(4)

    def embed(text: str) -> Vectors:
        together.wait(10)
        return wavering(text)

    remembered = Remembered(embed)
    with ThreadPoolExecutor(4) as threads:
        answers = {str(vector.tolist()) for vector in threads.map(remembered, ["gate"] * 4)}

    assert len(answers) == 1
