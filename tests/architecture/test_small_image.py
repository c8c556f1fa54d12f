"""The image of beat/Dockerfile has no model libraries and no servers: what runs in it must not ask for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.architecture.test_dependencies import DISTRIBUTIONS, EXTRAS
from tests.architecture.trees import ROOT
from tests.bare.without_extras import MISSING

BARE = ROOT / "tests" / "bare"

# What each process imports before it works, by the modules that its command imports and the plug-ins that it loads.
ENTRIES = {
    "api": "from infinicon.api import server; from infinicon.plugins.loader import load_extractor; "
    "from infinicon.settings import Settings; load_extractor(Settings())",
    "beat": "from infinicon.tasks import process",
    "flower": "from infinicon.tasks import flower",
    "migrate": "from infinicon.cli import migrating; import infinicon.store.migrations.versions",
    "health": "from infinicon.cli import health; from infinicon.encoder import client; from infinicon.tasks import ping",
    "secrets": "from infinicon.cli import secret_files",
    "keys create --tenant": "from infinicon.cli import key_management",
    "worker cpu": "from infinicon.tasks import handlers, process",
}


def bare(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that has the base install and Flower. It says at the end which missing modules it imported after all."""
    check = f"import sys; print('imported:', sorted({set(MISSING)!r} & set(sys.modules)))"
    return subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"],
        env={**os.environ, "PYTHONPATH": str(BARE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_starts_without_model_libraries(entry: str) -> None:
    done = bare(ENTRIES[entry])

    assert done.returncode == 0, done.stderr
    assert done.stdout == "imported: []\n"


def test_what_needs_more_says_what(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinicon.cli", "up", "--data-dir", str(tmp_path / "data")],
        env={**os.environ, "PYTHONPATH": str(BARE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == (
        "infinicon: this needs psutil, which is not installed\n  pip install 'infinicon[embedded]'\n"
    )
    assert not (tmp_path / "data").exists()


def test_the_block_holds() -> None:
    done = bare("import torch")

    assert "ModuleNotFoundError: No module named 'torch'" in done.stderr


def test_what_is_missing_is_what_the_extras_bring() -> None:
    modules = {distribution: module for module, distribution in DISTRIBUTIONS.items()}
    brought = {Requirement(line).name.lower() for extra in ("model", "embedded") for line in EXTRAS[extra]}

    assert {modules.get(name, name.replace("-", "_")) for name in brought} <= MISSING
