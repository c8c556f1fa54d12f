"""One thread encodes for all: what many handlers ask for at once goes to the model as one call, sorted by length as one.

Sorting saves padding only within a call, and a thread that enters torch brings its own team of OpenMP threads: so calls are
gathered, and one thread makes them. Cutting and tokenising for the next call go on in the callers' threads meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition, Thread

import numpy as np

from infinicon.domain import Span
from infinicon.errors import InfiniconError, Unavailable
from infinicon.guard import guarded
from infinicon.ports import Embedder, ModelInfo, Vectors

_Job = tuple[Sequence[str], "Future[Vectors]"]
_Call = Callable[[Sequence[str]], Vectors]


class CoalescingEmbedder:
    """Implements ports.Embedder over another one. Queries go before documents. `close` ends the thread."""

    def __init__(self, inner: Embedder, *, most_texts: int = 1_024) -> None:
        """`most_texts` bounds one call to `inner`; a single larger request is still one call.

        Beyond a thousand texts sorting saves little more padding, while a batch that waits for two others to be encoded with it is
        stored and indexed later, when there is nothing left to encode meanwhile.
        """
        self._inner = inner
        self._many_queries: _Call | None = getattr(inner, "embed_queries", None)
        self._most = most_texts
        self._documents: deque[_Job] = deque()
        self._queries: deque[_Job] = deque()
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name="encoder", daemon=True)
        self._thread.start()

    @property
    def model(self) -> ModelInfo:
        return self._inner.model

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        return self._inner.chunk(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As ports.Embedder; waits for the encoder thread.

        Raises:
            Unavailable: the embedder is closed.
        """
        return self._submit(self._documents, texts)

    def embed_query(self, text: str) -> Vectors:
        """As ports.Embedder; waits for the encoder thread, at most as long as one call to the model takes.

        Raises:
            Unavailable: the embedder is closed.
        """
        return self._submit(self._queries, [text])

    def close(self) -> None:
        """Let the call at work finish, refuse what is queued, end the thread. May be called twice."""
        with self._changed:
            self._closed = True
            refused = [*self._queries, *self._documents]
            self._queries.clear()
            self._documents.clear()
            self._changed.notify_all()
        for _, future in refused:
            future.set_exception(_closed())
        self._thread.join()

    def _submit(self, queue: deque[_Job], texts: Sequence[str]) -> Vectors:
        future: Future[Vectors] = Future()
        with self._changed:
            if self._closed:
                raise _closed()
            queue.append((texts, future))
            self._changed.notify()
        return future.result()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._queries or self._documents)
                if self._closed:
                    return
                queries = list(self._queries)
                self._queries.clear()
                documents = [] if queries else self._take_documents()
            if queries:
                self._encode(queries, self._many_queries, self._one_query)
            else:
                self._encode(documents, self._inner.embed, self._inner.embed)

    def _one_query(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_query(texts[0])

    def _take_documents(self) -> list[_Job]:
        taken = [self._documents.popleft()]
        count = len(taken[0][0])
        while self._documents and count + len(self._documents[0][0]) <= self._most:
            taken.append(self._documents.popleft())
            count += len(taken[-1][0])
        return taken

    def _encode(self, jobs: list[_Job], many: _Call | None, one: _Call) -> None:
        """One call for all jobs. Where it fails, each job has a call of its own, so that one text's fault stays its caller's."""
        if len(jobs) > 1 and many is not None:
            combined: Future[Vectors] = Future()
            if _answer(combined, many, [text for texts, _ in jobs for text in texts]):
                parts = np.split(combined.result(), np.cumsum([len(texts) for texts, _ in jobs])[:-1])
                for (_, future), vectors in zip(jobs, parts, strict=True):
                    future.set_result(vectors)
                return
        for texts, future in jobs:
            _answer(future, one, texts)


def _answer(future: Future[Vectors], call: _Call, texts: Sequence[str]) -> bool:
    """Hand the result, or what the plug-in raised, to the thread that waits for it. The encoder thread lives on."""
    try:
        future.set_result(guarded("embed", "embedder", call, texts))
    except InfiniconError as fault:
        future.set_exception(fault)
        return False
    return True


def _closed() -> Unavailable:
    return Unavailable("the embedder is closed")
