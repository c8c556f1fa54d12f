"""Commands in documents, and what they print: run in order, compared with what is pasted, or pasted anew.

They stand in ```console blocks (`$ command`, its output below), or in a ```sh block with a ```json or ```text block right behind it,
which is its output. A document's commands run in one shell, in a folder that looks like a clone with `.venv` and `samples/`.
`infinicon up` starts a real one, which all documents share; in their text its port is 8420. What differs from run to run (ids, times,
scores, keys) is masked on both sides before they are compared; an id that a command takes from an output above it is translated.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from infinicon.cli.instance import Instance, running

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/quickstart.md", "README.md", "docs/ingest.md", "docs/api.md", "docs/cli.md", "docs/configuration.md")
"""In the order in which they run: what one leaves behind, the next one sees."""

UP = "infinicon up"
PORT = "8420"
FOLDER = "/srv/infinicon"
PATIENCE_SECONDS = 120.0

_BLOCK = re.compile(
    r"^```console\n(?P<console>.*?)^```$|^```sh\n(?P<script>(?:(?!^```).)*?)^```\n\n?^```(?:json|text)\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MASKS: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"inf_[\w-]{20,}", "inf_…"),
        (r"(?m)^(?:.* · )?(?:[\d,]+ episodes|indexed [\d,]+ of [\d,]+) · [\d,]+ a second.*\n", ""),  # how far it is
        (r"(?m)^(?:ok|warning) +latency .*\n(?: +→ .*\n)?", "LATENCY\n"),
        (_ID.pattern, "ID"),
        (r"(?<=\(process )\d+", "NUMBER"),
        (r"(?<=--from )\S+", "CURSOR"),
        (r'(?<=[cC]ursor":)( ?)"[^"]+"', r'\1"CURSOR"'),
        (r"(?<=, )\d{4}-\d\d-\d\d(?=\])", "DAY"),
        (r"(?m)(?<=^id: )\S+", "CURSOR"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z *", "TIME "),
        (r'(?<="seconds": )[\d.]+', "NUMBER"),
        (r"(?<=, )\d+:\d\d(?:, [\d,]+ a second)?(?=:)", "DURATION"),
        (r"\b[01]\.\d{3,}\b", "SCORE"),
        (r"(?<=in meaning \()\d\.\d\d", "SCORE"),
        (r"\b\d+\.\d+(?= (?:GiB|ms|s)\b)", "NUMBER"),
    )
)
"""What differs from run to run, and what stands for it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a document and the output below it; `start` and `end` are where the output stands in the text."""

    text: str
    output: str
    start: int
    end: int


def commands(document: str) -> list[Command]:
    """The commands of a document, in order."""
    found: list[Command] = []
    for block in _BLOCK.finditer(document):
        if block["console"] is None:
            found.append(Command(block["script"].strip(), block["output"], *block.span("output")))
        else:
            found += _of_console(block["console"], block.start("console"))
    return found


def _of_console(block: str, at: int) -> Iterator[Command]:
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        line, _, output = part.partition("\n")
        if line.startswith("$ "):
            yield Command(line[2:], output, at + len(line) + 1, at + len(part))
        elif part.strip():
            raise ValueError(f"a console block must begin with a command: {part!r}")
        at += len(part)


def _renamed(text: str, ids: Mapping[str, str]) -> str:
    return _ID.sub(lambda found: ids.get(found[0], found[0]), text)


def masked(output: str) -> str:
    for pattern, mask in MASKS:
        output = pattern.sub(mask, output)
    return "\n".join(line.rstrip() for line in output.strip("\n").splitlines())


@dataclass(frozen=True, slots=True)
class Difference:
    """A command that printed something else than what its document says."""

    document: str
    command: Command
    printed: str

    def __str__(self) -> str:
        return f"{self.document}: $ {self.command.text}\n--- pasted\n{self.command.output}--- printed\n{self.printed}"


class Stage:
    """The folder in which the commands run, and the Infinicon that they talk to."""

    def __init__(self, folder: Path, instance: Instance) -> None:
        self._folder = folder
        self._instance = instance

    def play(self, document: str) -> list[tuple[Command, str]]:
        """Every command of a document with what it printed, as if it had the document's port, folder and ids."""
        text = (ROOT / document).read_text(encoding="utf-8")
        played: list[tuple[Command, str]] = []
        real: dict[str, str] = {}
        with _shell(self._folder) as shell:
            for command in commands(text):
                printed = self._run(shell, _renamed(command.text, real))
                pasted_ids, printed_ids = _ID.findall(command.output), _ID.findall(printed)
                if len(pasted_ids) == len(printed_ids):
                    real |= zip(pasted_ids, printed_ids, strict=True)
                played.append((command, _renamed(printed, {own: pasted for pasted, own in real.items()})))
        return played

    def _run(self, shell: _Shell, command: str) -> str:
        own = str(urlsplit(self._instance.url).port)
        if command == UP:  # it runs already: this is what it said when it was started
            said = (self._instance.data_dir / "up.log").read_text(encoding="utf-8")
            printed = f"{said}infinicon is ready: {self._instance.url}\n"
        else:
            printed = shell.run(re.sub(rf"\b{PORT}\b", own, command))
        return re.sub(rf"\b{own}\b", PORT, printed).replace(str(self._folder), FOLDER)

    def differences(self, document: str) -> list[Difference]:
        played = self.play(document)
        return [
            Difference(document, command, printed)
            for command, printed in played
            if masked(printed) != masked(command.output)
        ]


@contextlib.contextmanager
def stage(parent: Path) -> Iterator[Stage]:
    """Start an Infinicon, as `infinicon up` in a fresh clone would, for the length of the block."""
    folder = parent.resolve() / "infinicon"
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "samples").symlink_to(ROOT / "samples")
    with running(folder / ".infinicon") as instance:
        yield Stage(folder, instance)


LOOP = """while IFS= read -r -d '' command <&3; do
  eval "$command" < /dev/null
  printf '\\n%s\\n' "$MARK"
done"""
"""Commands come through a pipe of their own, so that none of them reads the next as its input."""


class _Shell:
    """A bash that keeps its variables from command to command."""

    def __init__(self, process: subprocess.Popen[bytes], commands: int, mark: bytes) -> None:
        self._process = process
        self._commands = commands
        self._mark = b"\n" + mark + b"\n"

    def run(self, command: str) -> str:
        """What the command prints, on standard output and standard error, as a terminal shows it."""
        assert self._process.stdout is not None
        os.write(self._commands, command.encode() + b"\0")
        printed, deadline = b"", time.monotonic() + PATIENCE_SECONDS
        while not printed.endswith(self._mark):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._process.stdout.fileno(), 65_536) if ready else b""
            if not more:
                raise TimeoutError(f"no end within {PATIENCE_SECONDS:.0f} s, or the shell has ended: {command}")
            printed += more
        return printed.removesuffix(self._mark).decode()


@contextlib.contextmanager
def _shell(folder: Path) -> Iterator[_Shell]:
    """A shell that knows nothing of who started it but where programs are."""
    mark = f"-- {time.monotonic_ns()} --"
    theirs, ours = os.pipe()
    process = subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-c", f"exec 3<&{theirs}; {LOOP}"],
        cwd=folder,
        env={"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", "HOME": str(folder), "MARK": mark, "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(theirs,),
    )
    os.close(theirs)
    try:
        yield _Shell(process, ours, mark.encode())
    finally:
        os.close(ours)
        process.wait(PATIENCE_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def write(parent: Path, made: Sequence[str] = ()) -> list[str]:
    """Paste what differs into the documents; answers with what changed. `made` are pages whose text is somewhere else.

    Raises:
        ValueError: a page that is made says something else than its commands print.
    """
    changed = []
    with stage(parent) as own:
        for document in DOCUMENTS:
            path = ROOT / document
            text = path.read_text(encoding="utf-8")
            different = own.differences(document)
            if different and document in made:
                raise ValueError(f"to be mended where it is made: {different[0]}")
            for difference in reversed(different):
                command = difference.command
                text = text[: command.start] + _pasted(difference.printed) + text[command.end :]
                changed.append(f"{document}: $ {command.text}")
            path.write_text(text, encoding="utf-8")
    return changed


def _pasted(printed: str) -> str:
    """Without what nobody should be able to use, and with a line end."""
    kept = re.sub(r"inf_[\w-]{20,}", "inf_…", printed).strip("\n")
    return kept + "\n" if kept else ""
