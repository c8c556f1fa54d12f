"""docs/configuration.md: every setting, its default, and what happens when it is wrong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from docs.generate.markdown import code, listed, made_from, page, table
from infinicon.embedded.processes import PROCESSES
from infinicon.settings import FILE_SUFFIX, PREFIX, SECRETS, WHEN_WRONG, Settings

INTRODUCTION = f"""Every process reads its settings once, when it starts, from environment variables that begin with `{PREFIX}`. Names are
read in any case; an empty variable is an unset one.

**A value that breaks its rule** stops the process with code 2. The message names the variable and the rule, never the value, and
all faults at once:

```console
$ INFINICON_PORT=99999 INFINICON_BULK_WINDOW=0 infinicon api
infinicon: INFINICON_PORT: Input should be less than or equal to 65535; INFINICON_BULK_WINDOW: Input should be greater than or equal to 1
```

**A variable that is missing** where a process needs it stops that process in the same way:

```console
$ infinicon beat
infinicon: not set: INFINICON_BROKER_URL (a secret may be in a file: INFINICON_…_FILE)
```

**A value that keeps its rule and is not the right one** is what "if wrong" below is about. `infinicon doctor` finds most of them.

**A secret in a file.** Every secret may stand in a file that its variable with the suffix `{FILE_SUFFIX}` names
(`INFINICON_MASTER_KEY_FILE=/run/secrets/master_key`), as Docker and systemd hand them out. One line; the line end is not part of it.
Where both are set, the variable counts and the file is not read. A file that cannot be read, is empty or has more than one line
stops the process with code 2.

**`infinicon up`** makes all addresses and secrets itself and gives each process its own; those of the environment that it was
started in are withheld. All other settings hold for its processes, too, but where they listen: the API's host and port are options of
`up`, Flower takes a free port."""

GROUPS: Mapping[str, str] = {
    "Services": "Where the others are. The four Postgres roles are made by `infinicon migrate`.",
    "Secrets": "",
    "API": "Read by the API; the encoder takes the two limits, too.",
    "Plug-ins": "The extractor is loaded by the API and the workers, the embedder and its model by the encoder and the embed worker.",
    "Pipeline": "Read by the API, the workers and beat. Set them alike for all of them.",
    "Flower": "",
    "The command line, as a client": "Read by the commands that talk to a server. An option of the command goes before its variable.",
    "Logs": "",
}

NEVER = {int: "-1", float: "-1", bool: "perhaps", str: "?", SecretStr: "?", Path: "?"}
"""A value that breaks whatever rule a setting of the type has."""


def make() -> str:
    return page(
        made_from("src/infinicon/settings.py", "src/infinicon/embedded/processes.py"),
        "# Configuration",
        INTRODUCTION,
        _processes(),
        *(part for title, names in groups().items() for part in (f"## {title}", GROUPS[title], *map(_setting, names))),
    )


def groups() -> dict[str, list[str]]:
    """Settings under the comments that head them in the class, in its order."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in inspect.getsource(Settings).splitlines():
        if title := re.fullmatch(r"    # (.+)", line):
            names = found.setdefault(title[1], [])
        elif (field := re.match(r"    (\w+): ", line)) and field[1] in Settings.model_fields:
            names.append(field[1])
    return found


def _processes() -> str:
    rows = [
        (
            code("infinicon " + " ".join(process.argv)),
            ", ".join(code(PREFIX + name.upper()) for name in process.settings),
            ", ".join(code(f"{name}={value}") for name, value in process.environment.items()),
        )
        for process in PROCESSES
    ]
    rows.append((code("infinicon migrate"), code(PREFIX + "OWNER_DATABASE_URL"), ""))
    return page(
        "## What each process needs",
        table(("process", "needs", "sets for libraries, unless it is set"), rows),
    )


def _setting(name: str) -> str:
    field = Settings.model_fields[name]
    assert field.description is not None
    lines = [f"- value: {_value(name, field)}", f"- default: {_default(field)}"]
    if needing := [" ".join(process.argv) for process in PROCESSES if name in process.settings]:
        lines.append(f"- needed by: {listed(needing)}")
    lines.append(f"- if wrong: {WHEN_WRONG[name]}")
    return page(f"### `{PREFIX}{name.upper()}`", field.description, "\n".join(lines))


def _value(name: str, field: FieldInfo) -> str:
    kind = next((part for part in (*get_args(field.annotation), field.annotation) if part in NEVER), None)
    if get_origin(field.annotation) is Literal:
        return listed([code(choice) for choice in get_args(field.annotation)], "or")
    words = {int: "a whole number", float: "a number", bool: "`true` or `false`", Path: "a path"}
    rule = _rule(name, NEVER[kind]) if kind in (str, SecretStr) else _bounds(field)
    text = f"{words[kind]}{', ' if rule else ''}{rule}" if kind in words else f"text{' that ' if rule else ''}{rule}"
    file = code(PREFIX + name.upper() + FILE_SUFFIX)
    return f"{text}; a secret, which may be in the file that {file} names" if name in SECRETS else text


def _bounds(field: FieldInfo) -> str:
    limits: dict[str, Any] = {
        bound: getattr(rule, bound) for rule in field.metadata for bound in ("ge", "gt", "le") if hasattr(rule, bound)
    }
    if "ge" in limits and "le" in limits:
        return f"{limits['ge']} to {limits['le']}"
    words = {"ge": "at least", "gt": "more than", "le": "at most"}
    return ", ".join(f"{words[bound]} {limit}" for bound, limit in limits.items())


def _rule(name: str, never: str) -> str:
    """What a validator says of a value that it refuses; nothing where every text is taken."""
    try:
        Settings.model_validate({name: never})
    except ValidationError as fault:
        return fault.errors()[0]["msg"].removeprefix("Value error, ")
    return ""


def _default(field: FieldInfo) -> str:
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    if value in ("", None):
        return "none"
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(int(value) if isinstance(value, float) and value.is_integer() else value)
