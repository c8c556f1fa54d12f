"""The supervisor with real, small children."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from infinicon.embedded.child import ChildSpec
from infinicon.embedded.supervisor import StopRequested, Supervisor
from infinicon.errors import Unavailable
from tests.waiting import wait_until

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def spec(
    name: str,
    code: str,
    *,
    layer: int = 1,
    stop: Sequence[tuple[signal.Signals, float]] = ((signal.SIGTERM, 3.0),),
) -> ChildSpec:
    return ChildSpec(name, [sys.executable, "-I", "-c", code], {"PATH": os.defpath}, tuple(stop), layer)


@pytest.fixture(autouse=True)
def hang_up_is_heard() -> Iterator[None]:
    """Under nohup SIGHUP is ignored, and the supervisor leaves it so; the tests ask what happens otherwise."""
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, former)


def signal_soon(number: signal.Signals) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()


def test_a_child_that_dies_comes_back(supervisor: Supervisor, reports: list[str]) -> None:
    child = supervisor.start(spec("sleeper", SLEEP))
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    supervisor.wait_until(lambda: child.pid not in (first, None), "its successor", 20)

    assert "sleeper ended (killed by SIGKILL); it starts again in 0.5 s" in reports[0]


def test_grandchildren_end_with_their_parent(supervisor: Supervisor, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    child = supervisor.start(
        spec(
            "parent",
            "import subprocess, sys, time; "
            f"p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); open({str(pid_file)!r}, 'w').write(str(p.pid)); "
            "time.sleep(60)",
        )
    )
    pid = int(wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the grandchild runs"))
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)

    supervisor.wait_until(lambda: not _runs(pid), "the grandchild is gone", 20)


def test_one_that_keeps_failing_ends_the_start_with_its_last_words(supervisor: Supervisor) -> None:
    supervisor.start(spec("broken", "print('no such model', flush=True); raise SystemExit(3)"))

    with pytest.raises(Unavailable, match=r"(?s)broken does not stay up; the end of .*broken\.log:.*no such model"):
        supervisor.wait_until(lambda: False, "nothing", 60)


def test_what_is_never_ready_ends_the_start(supervisor: Supervisor) -> None:
    supervisor.start(spec("sleeper", SLEEP))

    with pytest.raises(Unavailable, match="the moon is not ready after 0 s"):
        supervisor.wait_until(lambda: False, "the moon", 0.2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_waiting(supervisor: Supervisor, number: signal.Signals) -> None:
    signal_soon(number)

    with pytest.raises(StopRequested):
        supervisor.wait_until(lambda: False, "nothing", 60)


def test_a_stop_signal_ends_running_and_everything_stops(supervisor: Supervisor) -> None:
    children = [supervisor.start(spec(f"sleeper-{number}", SLEEP)) for number in range(3)]
    pids = [child.pid for child in children]
    signal_soon(signal.SIGTERM)

    supervisor.run()
    supervisor.stop()

    assert not any(_runs(pid) for pid in pids if pid)


def test_a_stop_signal_cuts_off_what_is_interruptible(supervisor: Supervisor) -> None:
    signal_soon(signal.SIGINT)

    with pytest.raises(StopRequested), supervisor.interruptible():
        threading.Event().wait(60)


def test_a_second_stop_signal_while_stopping_does_no_harm(supervisor: Supervisor) -> None:
    child = supervisor.start(spec("stubborn", STUBBORN, stop=[(signal.SIGTERM, 1.0)]))
    wait_until(lambda: child.log.read_text() == "up\n", "it ignores SIGTERM")
    os.kill(os.getpid(), signal.SIGINT)
    signal_soon(signal.SIGINT)

    supervisor.stop()

    assert not child.running


def test_one_that_ignores_its_signal_is_killed(supervisor: Supervisor, reports: list[str]) -> None:
    child = supervisor.start(spec("stubborn", STUBBORN, stop=[(signal.SIGTERM, 0.3)]))
    wait_until(lambda: child.log.read_text() == "up\n", "it ignores SIGTERM")

    supervisor.stop()

    assert not child.running
    assert reports == ["stubborn does not stop by itself: killing it"]


def test_higher_layers_stop_first(supervisor: Supervisor, tmp_path: Path) -> None:
    order = tmp_path / "order"
    code = (
        "import signal, sys, time\n"
        f"def stop(*_): time.sleep(0.2); open({str(order)!r}, 'a').write(sys.argv[1]); sys.exit()\n"
        "signal.signal(signal.SIGTERM, stop); print('up', flush=True); time.sleep(60)"
    )
    children = []
    for name, layer in (("1", 0), ("2", 1)):
        made = spec(name, code, layer=layer)
        children.append(supervisor.start(ChildSpec(name, [*made.command, name], made.environment, made.stop, layer)))
    for child in children:
        wait_until(lambda child=child: child.log.read_text() == "up\n", "it listens to SIGTERM")  # type: ignore[misc] # its default

    supervisor.stop()

    assert order.read_text() == "21"


def test_a_program_runs_to_its_end(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.finish(spec("once", f"open({str(tmp_path / 'done')!r}, 'w')"), 20)

    assert (tmp_path / "done").exists()
    with pytest.raises(Unavailable, match=r"once failed \(exit code 4\)"):
        supervisor.finish(spec("once", "raise SystemExit(4)"), 20)


def test_a_program_is_cut_off_by_a_stop_signal(supervisor: Supervisor) -> None:
    before = set(psutil.Process().children(recursive=True))
    signal_soon(signal.SIGTERM)

    with pytest.raises(StopRequested):
        supervisor.finish(spec("once", SLEEP), 60)

    assert set(psutil.Process().children(recursive=True)) <= before


def test_children_do_not_get_ctrl_c_of_the_terminal(supervisor: Supervisor) -> None:
    child = supervisor.start(spec("sleeper", SLEEP))

    assert child.pid is not None
    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)


def test_handlers_are_given_back(place: object) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    with Supervisor(lambda _: None):
        pass

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)] == before


def test_a_child_may_have_to_wait_for_its_predecessor(supervisor: Supervisor) -> None:
    answers = [False, False, True]
    made = spec("later", SLEEP)
    child = supervisor.start(
        ChildSpec("later", made.command, made.environment, made.stop, may_start=lambda: answers.pop(0))
    )
    assert not child.running

    supervisor.wait_until(lambda: child.running, "its turn", 20)

    assert answers == []


def test_a_child_cannot_fill_the_disk(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinicon.embedded.logs.keep_small.__defaults__", (1000,))
    monkeypatch.setattr("infinicon.embedded.supervisor.LOOK_AT_LOGS_EVERY", 0.0)
    child = supervisor.start(spec("chatty", "import time\nwhile True: print('x' * 99, flush=True); time.sleep(0.01)"))

    supervisor.wait_until(lambda: child.log.with_name("chatty.log.1").exists(), "its log was cut", 20)


def _runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


def test_a_killed_supervisor_leaves_no_children(tmp_path: Path) -> None:
    code = (
        "import signal, sys\nfrom pathlib import Path\n"
        "from infinicon.embedded import launch\nfrom infinicon.embedded.child import ChildSpec\n"
        "from infinicon.embedded.supervisor import Supervisor\n"
        "with Supervisor(print) as s:\n"
        f"    s.log_to(Path({str(tmp_path)!r}))\n"
        f"    c = s.start(ChildSpec('c', launch.command([sys.executable, '-I', '-c', {SLEEP!r}], death_signal=9), dict()))\n"
        "    print(c.pid, flush=True)\n"
        "    s.run()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait_until(lambda: "launch" not in " ".join(psutil.Process(pid).cmdline()), "the launcher has become the program")

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_until(lambda: not _runs(pid), "the child is gone")


def test_one_that_the_system_does_not_start_now_is_tried_again(
    supervisor: Supervisor, reports: list[str], tmp_path: Path
) -> None:
    """No process, no file or no space left is a passing fault of one child, and no reason to stop the others."""
    program, away = tmp_path / "program", tmp_path / "away"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o700)
    child = supervisor.start(ChildSpec("tool", [str(program)], {"PATH": os.defpath}, ((signal.SIGTERM, 3.0),), 1))
    first = child.pid
    assert first is not None
    program.rename(away)
    os.kill(first, signal.SIGKILL)
    supervisor.wait_until(lambda: any("tool does not start" in report for report in reports), "it fails", 20)
    away.rename(program)

    supervisor.wait_until(lambda: child.pid not in (first, None), "its successor", 20)


def test_a_log_folder_that_was_removed_is_made_again(supervisor: Supervisor, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    supervisor.log_to(logs)
    child = supervisor.start(spec("sleeper", SLEEP))
    first = child.pid
    assert first is not None
    shutil.rmtree(logs)
    os.kill(first, signal.SIGKILL)

    supervisor.wait_until(lambda: child.pid not in (first, None) and child.log.exists(), "its successor", 20)
