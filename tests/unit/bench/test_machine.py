"""What a result was measured on."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import machine

CPUINFO = "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx512_bf16\nprocessor\t: 1\nmodel name\t: A CPU @ 2 GHz\n"


def test_the_cpu_is_named_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO, encoding="utf-8")
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")

    told = machine.machine()

    assert (told["cpu"], told["avx512_bf16"], told["amx_bf16"]) == ("A CPU @ 2 GHz", True, False)
    assert told["cores"] >= 1
    assert told["libraries"]["torch"]


def test_outside_a_repository_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "ROOT", tmp_path)

    assert machine.commit() is None
