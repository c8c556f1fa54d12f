"""The bare encode loop: the built-in embedder over a file of texts, in a process of its own, with nothing else running.

`python bench/bare_encode.py TEXTS.json` prints {"texts": …, "seconds": …, "precision": …} on one line. Loading the model and one warm-up
call are not counted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from infinicon.plugins.loader import load_embedder
from infinicon.settings import settings

WARM_UP = 256


def main() -> None:
    texts: list[str] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    embedder = load_embedder(settings())
    embedder.embed(texts[:WARM_UP])
    began = time.perf_counter()
    # All in one call is its best setting: it sorts by length, and the more it sees the less it pads.
    vectors = embedder.embed(texts)
    seconds = time.perf_counter() - began
    assert len(vectors) == len(texts)
    print(json.dumps({"texts": len(texts), "seconds": seconds}))


if __name__ == "__main__":
    main()
