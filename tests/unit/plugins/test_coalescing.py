"""One thread encodes for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, get_ident

import numpy as np
import pytest

from infinicon.domain import Span
from infinicon.errors import InvalidContent, PluginFailed, Unavailable
from infinicon.plugins.coalescing import CoalescingEmbedder
from infinicon.ports import ModelInfo, Vectors
from tests.waiting import wait_until


class Recorder:
    """The first element of a vector is the length of its text. The first call waits for `gate`."""

    model = ModelInfo("recorder", "1", 2, 100)

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.threads: set[int] = set()
        self.gate = Event()
        self.entered = Event()

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        return [[Span(0, len(text))] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        self.threads.add(get_ident())
        self.entered.set()
        self.gate.wait(10)
        if "bad" in texts:
            raise InvalidContent("no direction")
        if "worse" in texts:
            raise ValueError("CANARY-77")
        return np.array([[len(text), 0] for text in texts], np.float16).reshape(-1, 2)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([f"query {text}"])


@pytest.fixture
def inner() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.gate.set()


@pytest.fixture
def embedder(inner: Recorder) -> Iterator[CoalescingEmbedder]:
    coalescing = CoalescingEmbedder(inner, most_texts=10)
    yield coalescing
    inner.gate.set()
    coalescing.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def held(embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor) -> Future[Vectors]:
    """A first call, at which the encoder thread waits, so that later ones queue up."""
    first = threads.submit(embedder.embed, ["first"])
    assert inner.entered.wait(10)
    return first


def queue(embedder: CoalescingEmbedder, threads: ThreadPoolExecutor, *requests: list[str]) -> list[Future[Vectors]]:
    found = []
    for number, texts in enumerate(requests, start=1):
        found.append(threads.submit(embedder.embed, texts))
        wait_until(lambda: len(embedder._documents) == number, "the request is queued")  # noqa: B023 - called at once
    return found


def test_what_waits_is_encoded_as_one_call_by_one_thread(
    embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor
) -> None:
    first = held(embedder, inner, threads)
    later = queue(embedder, threads, ["a", "bb"], ["ccc"])
    inner.gate.set()

    assert [future.result()[:, 0].tolist() for future in [first, *later]] == [[5], [1, 2], [3]]
    assert inner.calls == [["first"], ["a", "bb", "ccc"]]
    assert len(inner.threads) == 1


def test_a_call_is_bounded_and_a_larger_request_is_one_call(
    embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor
) -> None:
    held(embedder, inner, threads)
    later = queue(embedder, threads, ["a"] * 6, ["b"] * 6, ["c"] * 15)
    inner.gate.set()

    assert [len(future.result()) for future in later] == [6, 6, 15]
    assert [len(call) for call in inner.calls] == [1, 6, 6, 15]


def test_queries_go_before_documents(
    embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor
) -> None:
    held(embedder, inner, threads)
    later = queue(embedder, threads, ["document"])
    query = threads.submit(embedder.embed_query, "q")
    wait_until(lambda: len(embedder._queries) == 1, "the query is queued")
    inner.gate.set()

    assert query.result()[0, 0] == len("query q")
    assert later[0].result()[0, 0] == len("document")
    assert inner.calls[1:] == [["query q"], ["document"]]


def test_one_callers_fault_is_not_its_neighbours(
    embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor
) -> None:
    held(embedder, inner, threads)
    good, bad, worse, also_good = queue(embedder, threads, ["a"], ["x", "bad"], ["worse"], ["bb"])
    inner.gate.set()

    assert good.result()[0, 0] == 1
    assert also_good.result()[0, 0] == 2
    with pytest.raises(InvalidContent):
        bad.result()
    with pytest.raises(PluginFailed) as caught:
        worse.result()
    assert "CANARY" not in str(caught.value.to_wire())


def test_closing_refuses_what_waits_and_what_comes(
    embedder: CoalescingEmbedder, inner: Recorder, threads: ThreadPoolExecutor
) -> None:
    first = held(embedder, inner, threads)
    (waiting,) = queue(embedder, threads, ["a"])
    closing = threads.submit(embedder.close)

    with pytest.raises(Unavailable):
        waiting.result(10)
    inner.gate.set()
    closing.result(10)

    assert first.result()[0, 0] == 5
    assert not embedder._thread.is_alive()
    with pytest.raises(Unavailable):
        embedder.embed(["late"])
    embedder.close()


def test_the_rest_is_the_inner_embedders(embedder: CoalescingEmbedder, inner: Recorder) -> None:
    assert embedder.model is inner.model
    assert embedder.chunk(["abc"]) == [[Span(0, 3)]]
