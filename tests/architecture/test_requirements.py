"""Every requirement has a test, and every test that a requirement names is there."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
WANTED = [
    *(f"I{number}" for number in range(1, 57)),
    *(f"W{number}" for number in range(1, 33)),
]


def requirements() -> dict[str, dict[str, Any]]:
    return tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def absent(named: list[str]) -> list[str]:
    return [name for name in named if name.partition("::")[2] not in functions(TESTS / name.partition("::")[0])]


def test_every_requirement_has_a_test() -> None:
    found = requirements()

    assert list(found) == WANTED
    assert [name for name, line in found.items() if not line["tests"]] == []


def test_every_test_that_is_named_is_there() -> None:
    assert absent([test for line in requirements().values() for test in line["tests"]]) == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    wrong = ["e2e/test_memory.py::test_nothing", "e2e/test_nothing.py::test_x"]

    assert absent(["architecture/test_requirements.py::test_every_requirement_has_a_test", *wrong]) == wrong
