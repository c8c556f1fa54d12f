"""Options that several commands share, so that one name means one thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def named(text: str | Path) -> Path:
    """A path that says something: an unset variable in a script must not stand for the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("must not be empty")
    return Path(text)


DataDirOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The data directory of a running `infinicon up`; INFINICON_DATA_DIR or .infinicon if not given.",
        parser=named,
    ),
]
UrlOption: TypeAlias = Annotated[
    str | None, typer.Option(help="A server's address, with the key in INFINICON_API_KEY; INFINICON_URL if not given.")
]
NamespaceOption: TypeAlias = Annotated[
    str | None, typer.Option("--namespace", "-n", help="The namespace; INFINICON_NAMESPACE if not given.")
]
AgentOption: TypeAlias = Annotated[str | None, typer.Option("--agent", help="Only memory of this agent.")]
SessionOption: TypeAlias = Annotated[str | None, typer.Option("--session", help="Only memory of this session.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]


def namespace_of(given: str | None) -> str:
    """The namespace of a command. Raises WrongUsage where none is named."""
    from infinicon.cli.faults import WrongUsage
    from infinicon.settings import settings

    name = given or settings().namespace
    if not name:
        raise WrongUsage("no namespace is given", "add --namespace NAME, or set INFINICON_NAMESPACE")
    return name
