"""Equal questions have equal vectors.

A model's numbers depend, in their last digits, on what else is in the batch (a cosine of .99994, bfloat16, measured). So the same question,
asked twice at once, would rank what is nearly equal in two ways. The vector that a question got first is kept for the next ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock

from infinicon.ports import Vectors


class Remembered:
    """The last questions' vectors, by digest: no text is kept. Safe to share between threads."""

    def __init__(self, embed: Callable[[str], Vectors], most: int = 4_096) -> None:
        self._embed = embed
        self._most = most
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = Lock()

    def __call__(self, text: str) -> Vectors:
        """Raises what `embed` raises."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(digest)
            if known is not None:
                self._known.move_to_end(digest)
                return known
        made = self._embed(text)  # two may do this at once for the same text: the first to be done is right
        with self._lock:
            kept = self._known.setdefault(digest, made)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return kept
