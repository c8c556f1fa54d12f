"""The list of mutants, and a tree of sources with one of them in it."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` stands once in `file`, a path from the repository's root, and `new` comes in its place."""

    file: Path
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and the tests of which one at least fails for it."""

    name: str
    why: str
    tests: Sequence[str]
    edits: Sequence[Edit]


def mutants() -> list[Mutant]:
    """All of them, in the order of the list."""
    return [
        Mutant(name, entry["why"], entry["tests"], [Edit(Path(e["file"]), e["old"], e["new"]) for e in entry["edits"]])
        for name, entry in tomllib.loads(LIST.read_text()).items()
    ]


def plant(mutant: Mutant, folder: Path) -> Path:
    """Copy the sources into `folder` and put the fault in; where to import from."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in mutant.edits:
        path = folder / edit.file
        text = path.read_text()
        if text.count(edit.old) != 1:
            raise LookupError(f"{mutant.name}: what it changes does not stand once in {edit.file}")
        path.write_text(text.replace(edit.old, edit.new))
    return source
