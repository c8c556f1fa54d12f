"""Asking a plug-in in a process of its own, which it may hang or end: a preview in the API, where nobody else may suffer for it.

What the plug-in is shown travels through a pipe, as what it proposes does, and lies nowhere. Its plan is checked over there.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from infinicon import errors
from infinicon.domain import Fault, Stage
from infinicon.errors import InfiniconError, PluginFailed, Unavailable
from infinicon.operations import plans
from infinicon.operations.counting import Counters
from infinicon.operations.plans import Checked, Contradiction, NewDigest, Retired
from infinicon.operations.selecting import COUNTER, Slice
from infinicon.ports import Consolidator
from infinicon.store.consolidation_changes import Kind

STARTING = 60.0
"""Seconds that a child may need on a busy machine until it asks its plug-in. From then on it ends itself at the ceiling, also where the
process that started it is gone."""

FAULTS: Mapping[str, type[InfiniconError]] = {
    kind.code: kind for kind in (errors.EmptySynthesis, errors.MissingDependency, errors.PluginFailed, Unavailable)
}
"""What a child may answer with; anything else that a plug-in raises of ours counts as its failure."""


@dataclass(frozen=True, slots=True)
class Child:
    """How to start a process that calls `serve`, and the seconds that its plug-in has."""

    command: Sequence[str]
    environment: Mapping[str, str]
    seconds: float

    def ask(self, part: Slice) -> Checked:
        """The plan of a slice, checked. Whatever becomes of the child, it and what it started are gone afterwards.

        Raises:
            PluginFailed, EmptySynthesis: the plug-in fails or ends its process, or its plan breaks a rule.
            Unavailable: it takes too long, or cannot be started.
        """
        shown = replace(part, request=replace(part.request, count=len))
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module, without a shell
                self.command,
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            raise Unavailable("no process can be started for the consolidator") from None
        try:
            written, _ = process.communicate(pickle.dumps((shown, self.seconds)), STARTING + self.seconds)
            late = process.returncode == -signal.SIGALRM
        except subprocess.TimeoutExpired:
            written, late = b"", True
        finally:
            _end(process)
        if late:
            raise Unavailable("the consolidator did not answer in time", details={"stage": Stage.CONSOLIDATE.value})
        return _read(written)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group, which the child leads; nobody has its number as long as the child is not waited for, or one of it lives."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


def _read(written: bytes) -> Checked:
    try:
        found = json.loads(written)
    except ValueError:
        raise PluginFailed("the consolidator ended its process", details={"stage": Stage.CONSOLIDATE.value}) from None
    if "fault" in found:
        fault = found["fault"]
        raise FAULTS.get(fault["code"], PluginFailed)(fault["message"], details=fault["details"])
    return Checked(
        [
            NewDigest(title, content, _ids(sources), _ids(replaces))
            for title, content, sources, replaces in found["digests"]
        ],
        [Retired(Kind(kind), UUID(old), UUID(new), reason) for kind, old, new, reason in found["retired"]],
        [Contradiction(UUID(first), UUID(second), reason) for first, second, reason in found["disputes"]],
    )


def _ids(written: Sequence[str]) -> list[UUID]:
    return [UUID(one) for one in written]


def serve(load: Callable[[], Consolidator], counters: Counters) -> None:
    """In the child: read a slice from stdin, ask the plug-in, write what it proposes to stdout. What the plug-in prints goes nowhere."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # texts would lie in it
    answers = os.dup(sys.stdout.fileno())
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    part, seconds = pickle.load(sys.stdin.buffer)  # noqa: S301 - `Child.ask` wrote it
    part = replace(part, request=replace(part.request, count=lambda text: counters.count(COUNTER, text)))
    try:
        consolidator = load()
        signal.setitimer(signal.ITIMER_REAL, seconds)
        found = _written(plans.propose(consolidator, part))
    except InfiniconError as fault:
        kept = Fault.of(fault)
        found = {"fault": {"code": kept.code, "message": kept.message, "details": dict(kept.details)}}
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        json.dump(found, out)


def _written(plan: Checked) -> dict[str, Any]:
    return {
        "digests": [
            (one.title, one.content, [*map(str, one.sources)], [*map(str, one.replaces)]) for one in plan.digests
        ],
        "retired": [(one.kind, str(one.old), str(one.new), one.reason) for one in plan.retired],
        "disputes": [(str(one.first), str(one.second), one.reason) for one in plan.disputes],
    }
