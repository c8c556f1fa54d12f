"""docs/cli.md: every command's own help, and what exit codes mean."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

from typer.main import get_command
from typer.testing import CliRunner

import infinicon.cli.commands  # noqa: F401 - registers them
from docs.generate.markdown import made_from, page, table
from infinicon.cli import exits
from infinicon.cli.app import app

WIDTH = 110

COMPLETION = """## Completion

`infinicon --install-completion` sets up the completion of commands and options for the shell that it is called from (bash, zsh, fish,
PowerShell): it adds a few lines to the shell's start file, which counts from the next shell on. `infinicon --show-completion` prints
them instead, for who keeps such files in a place of their own:

```sh
infinicon --show-completion > ~/.local/share/bash-completion/completions/infinicon
```"""

OUTPUT = """## Output

What a command found goes to standard output, everything about the run (progress, warnings, errors) to standard error. `--json`
prints what the API answered, with its field names, on one line where a program reads and indented on a terminal. An error is one line
that says what happened and, where there is one, a second with the remedy:

```console
$ infinicon query "Where is the key?"
infinicon: no namespace is given
  add --namespace NAME, or set INFINICON_NAMESPACE
```"""


def make() -> str:
    return page(
        made_from("src/infinicon/cli"),
        "# The command line",
        "After `make setup` it is `.venv/bin/infinicon`. What it reads from the environment is in [configuration.md](configuration.md), "
        "a walk through it in [quickstart.md](quickstart.md).",
        "## Exit codes",
        table(("code", "what it says"), [(str(number), text) for number, text in exit_codes()]),
        OUTPUT,
        COMPLETION,
        "## infinicon",
        _help(()),
        *(part for path in commands() for part in (f"## infinicon {' '.join(path)}", _help(path))),
    )


def commands() -> list[tuple[str, ...]]:
    """Every command by its words, groups before their members."""
    return list(_below(get_command(app), ()))


def _below(command: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, member in getattr(command, "commands", {}).items():
        if not member.hidden:
            yield (*path, name)
            yield from _below(member, (*path, name))


def _help(path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(app, [*path, "--help"], prog_name="infinicon", terminal_width=WIDTH, color=False)
    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.output.strip().splitlines()]
    return "```text\n" + "\n".join(lines) + "\n```"


def exit_codes() -> list[tuple[int, str]]:
    """The constants of exits.py, with the strings that stand below them."""
    body = ast.parse(inspect.getsource(exits)).body
    found = []
    for statement, after in pairwise(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            assert isinstance(after, ast.Expr), f"{ast.unparse(statement)} says nothing"
            assert isinstance(after.value, ast.Constant)
            found.append((int(str(statement.value.value)), str(after.value.value)))
    return found
