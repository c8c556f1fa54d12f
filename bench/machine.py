"""What a result depends on: the machine, the versions, the commit. Nothing that names a host, a path or a person."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.figure import Json

ROOT = Path(__file__).parents[1]
CPUINFO = Path("/proc/cpuinfo")
LIBRARIES = ("infinicon", "celery", "fastapi", "numpy", "psycopg", "sentence-transformers", "tokenizers", "torch")
MEASURED = (
    "src",
    "bench",
    "workers",
    "beat",
    "constraints.txt",
)  # where a change makes another thing of what is measured


def machine() -> Json:
    cpuinfo = CPUINFO.read_text(encoding="utf-8") if CPUINFO.exists() else ""
    return {
        "cores": os.cpu_count(),
        "cpu": _model_name(cpuinfo),
        "avx512_bf16": "avx512_bf16" in cpuinfo,
        "amx_bf16": "amx_bf16" in cpuinfo,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _model_name(cpuinfo: str) -> str:
    names = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit() -> str | None:
    """The short id of the commit; "+" at its end says that what is measured had changes on top. None outside a repository."""
    head = _git("rev-parse", "--short=10", "HEAD")
    if head is None:
        return None
    return head + ("+" if _git("status", "--porcelain", "--", *MEASURED) else "")


def _git(*words: str) -> str | None:
    command = ["git", "-C", str(ROOT), *words]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
