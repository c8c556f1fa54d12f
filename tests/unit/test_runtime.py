"""What a process is built from, where that can be wrong without a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinicon.errors import Unavailable
from infinicon.plugins.counters import bpe
from infinicon.runtime import Runtime
from infinicon.settings import Settings


def test_a_damaged_vocabulary_is_named_and_a_repaired_one_is_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(Settings())
    runtime.check_counters()

    whole = {path.name: path.read_bytes() for path in bpe.FOLDER.glob("*.gz")}
    for name, content in whole.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(bpe, "FOLDER", tmp_path)
    runtime.check_counters()
    (tmp_path / "o200k_base.tiktoken.gz").write_bytes(b"damaged")
    with pytest.raises(Unavailable, match="vocabulary of o200k_base is missing or damaged"):
        runtime.check_counters()
    (tmp_path / "cl100k_base.tiktoken.gz").unlink()
    with pytest.raises(Unavailable, match="o200k_base and cl100k_base"):
        runtime.check_counters()

    for name, content in whole.items():
        (tmp_path / name).write_bytes(content)
    runtime.check_counters()


def test_counters_are_loaded_once_and_shared() -> None:
    runtime = Runtime(Settings())

    assert runtime.counters is runtime.counters
    assert runtime.counters.get("chars") is runtime.counters.get("chars")
    assert runtime.counters.count("chars", "gate") == 4
