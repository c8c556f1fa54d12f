"""Where an embedding model's files are, and which revision of it they make."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from infinicon.errors import MissingDependency
from infinicon.settings import PREFIX

RULE = "package:NAME (an installed package with the model in its folder model/), path:/DIR, or hub:ORG/NAME[@REVISION]"
_SETTING = f"{PREFIX}MODEL"
_CONFIG_SUFFIXES = {".json", ".txt", ".model", ".py"}


@dataclass(frozen=True, slots=True)
class ModelSource:
    """`folder` holds the files of a local model; otherwise `hub` names the repository and `hub_revision` its revision, if given."""

    name: str
    folder: Path | None = None
    hub: str = ""
    hub_revision: str | None = None


def locate(model: str) -> ModelSource:
    """Read the setting. No network, and nothing is imported.

    Raises:
        MissingDependency: naming the setting and what is not there.
    """
    kind, _, rest = model.partition(":")
    if kind == "package" and rest:
        return ModelSource(rest, _package_folder(rest))
    if kind == "path" and rest:
        folder = Path(rest)
        if not _holds_a_model(folder):
            raise MissingDependency(
                f"{_SETTING}: there is no model in {folder}: modules.json or config.json is missing"
            )
        return ModelSource(folder.name, folder)
    if kind == "hub" and rest:
        name, _, revision = rest.partition("@")
        return ModelSource(name, None, name, revision or None)
    raise MissingDependency(f"{_SETTING} must be {RULE}")


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependency(f"{_SETTING}: the package {name} is not installed; the rule is {RULE}")
    for root in spec.submodule_search_locations:
        for folder in (Path(root) / "model", Path(root)):
            if _holds_a_model(folder):
                return folder
    raise MissingDependency(
        f"{_SETTING}: the package {name} has no model in {spec.submodule_search_locations[0]}/model"
    )


def _holds_a_model(folder: Path) -> bool:
    return (folder / "modules.json").is_file() or (folder / "config.json").is_file()


def revision_of(folder: Path) -> str:
    """Changes whenever a configuration or vocabulary file changes, or the name or size of the weights does; 16 hex digits.

    The weights themselves are not read: hashing gigabytes at every start would cost more than it finds.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        relative = file.relative_to(folder).as_posix()
        digest.update(f"{relative}\0{file.stat().st_size}\0".encode())
        if file.suffix in _CONFIG_SUFFIXES:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
