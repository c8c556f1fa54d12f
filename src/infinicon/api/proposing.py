"""`python -m infinicon.api.proposing`: the process in which a preview asks the consolidator (operations/asking.py). Not for people."""

from __future__ import annotations

from infinicon.operations.asking import serve
from infinicon.runtime import Runtime
from infinicon.settings import settings


def main() -> None:
    own = Runtime(settings())
    serve(lambda: own.consolidator, own.counters)


if __name__ == "__main__":
    main()
