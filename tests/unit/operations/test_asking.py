"""A plug-in that is asked in a process of its own: what it proposes comes back, and whatever it does ends with it."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import psutil
import pytest

from infinicon.domain import ConsolidationScope, MemoryType, Status, Width
from infinicon.errors import EmptySynthesis, InfiniconError, PluginFailed, Unavailable
from infinicon.operations import asking
from infinicon.operations.asking import Child
from infinicon.operations.plans import Checked, Contradiction, NewDigest, Retired
from infinicon.operations.selecting import Slice
from infinicon.ports import ConsolidationInput, SourceMemory
from infinicon.settings import child_environment
from infinicon.store.consolidation_changes import Kind
from infinicon.store.consolidations import Material
from tests.waiting import wait_until

AT = datetime(2026, 5, 1, tzinfo=UTC)
IDS = [UUID(int=number) for number in range(1, 7)]
PROGRAM = """
import os, subprocess, sys, time
from infinicon.operations.asking import serve
from infinicon.operations.counting import Counters
from infinicon.ports import Digest, Dispute, Duplicate, Plan, Supersession

class Words:
    name = "words"
    def count(self, text):
        return len(text.split())

class Mine:
    name, version, deterministic = "mine", "1", True
    def consolidate(self, request):
        print("noise on stdout")
        text = request.memories[0].content
        {behaviour}

serve(Mine, Counters(lambda name: Words()))
"""


def part() -> Slice:
    memories = {
        f"m{place}": Material(
            one, MemoryType.ATOM, Status.ACTIVE, "Rosa moved.", None, None, AT, AT, None, None, None, (), {"room": "a"}
        )
        for place, one in enumerate(IDS)
    }
    shown = [SourceMemory(key, one.type, one.content, AT) for key, one in memories.items()]
    vectors = np.zeros((len(shown), 4), np.float16)
    request = ConsolidationInput(shown, vectors, 6, lambda _: 0)
    within = ConsolidationScope(1, 1, Width.AGENT, None, None)
    return Slice(within, 1, memories, frozenset(IDS), IDS, IDS[-1], last=True, request=request)


def child(behaviour: str, seconds: float = 60.0) -> Child:
    program = PROGRAM.replace("{behaviour}", behaviour)
    return Child([sys.executable, "-c", program], child_environment({}), seconds)


def test_a_plan_comes_back_as_it_was_checked() -> None:
    plan = (
        'return Plan([Digest("Rosa", text + " \\u6885", ["m0", "m1"])], [Supersession("m0", "m1", "moved")],'
        ' [Dispute("m2", "m3", "values")], [Duplicate("m4", "m5")])'
    )
    found = child(plan).ask(part())

    assert found == Checked(
        [NewDigest("Rosa", "Rosa moved. 梅", IDS[:2], [])],
        [Retired(Kind.SUPERSEDED, IDS[0], IDS[1], "moved"), Retired(Kind.FOLDED, IDS[5], IDS[4])],
        [Contradiction(IDS[2], IDS[3], "values")],
    )


@pytest.mark.parametrize(
    ("behaviour", "fault", "said"),
    [
        ("os._exit(0)", PluginFailed, "ended its process"),
        ("os.kill(os.getpid(), 9)", PluginFailed, "ended its process"),
        ("raise RuntimeError(text)", PluginFailed, "raised RuntimeError"),
        ("return Plan([Digest('T', ' ', ['m0', 'm1'])])", EmptySynthesis, "says nothing"),
        ("return Plan([Digest('T', 'a ' * 7, ['m0', 'm1'])])", PluginFailed, "over its token budget"),
    ],
)
def test_what_goes_wrong_is_said(behaviour: str, fault: type[InfiniconError], said: str) -> None:
    with pytest.raises(fault, match=said) as raised:
        child(behaviour).ask(part())
    assert type(raised.value) is fault
    assert "Rosa" not in str(raised.value.to_wire())


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    behaviour = (
        f'other = subprocess.Popen(["sleep", "3600"]); open({os.fspath(started)!r}, "w").write(str(other.pid));'
        " time.sleep(3600)"
    )
    with pytest.raises(Unavailable, match="in time"):
        child(behaviour, 2.0).ask(part())
    other = int(started.read_text(encoding="utf-8"))

    def gone() -> bool:
        return not psutil.pid_exists(other) or psutil.Process(other).status() == psutil.STATUS_ZOMBIE

    wait_until(gone, "what the plug-in started is gone")


def test_one_that_lets_no_alarm_in_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "STARTING", 3.0)
    with pytest.raises(Unavailable, match="in time"):
        child("import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(3600)", 1.0).ask(part())


def test_what_cannot_be_started_is_said() -> None:
    with pytest.raises(Unavailable, match="can be started"):
        Child(["/nowhere/at all"], {}, 1.0).ask(part())
