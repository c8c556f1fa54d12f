"""Consolidation: fewer and better memories, shown first where that is wanted, and taken back."""

from __future__ import annotations

from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import (
    AgentOption,
    DataDirOption,
    JsonOption,
    NamespaceOption,
    SessionOption,
    UrlOption,
    namespace_of,
)


@app.command(epilog="Example: infinicon consolidate --namespace home --preview")
def consolidate(
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would be made, and change nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over; exit code 1 where it failed.")] = False,
    undo: Annotated[str | None, typer.Option(metavar="JOB", help="Take back what this consolidation changed.")] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Fold duplicates, retire what is superseded, mark contradictions and summarise, in the background; nothing is lost.

    Where a consolidation works there already, that is the job.
    """
    from infinicon.cli import consolidating
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find
    from infinicon.cli.faults import WrongUsage

    if undo is not None and (preview or wait):
        raise WrongUsage("--undo takes back at once", "leave --preview and --wait away")
    if preview and wait:
        raise WrongUsage("--preview starts nothing that could be waited for", "leave --wait away")
    with Client(find(url, data_dir)) as client:
        scope = client.scope(namespace_of(namespace), agent, session)
        if undo is not None:
            code = consolidating.undo(client, scope, undo, as_json=json)
        elif preview:
            code = consolidating.preview(client, scope, as_json=json)
        else:
            code = consolidating.start(client, scope, wait=wait, as_json=json)
    raise typer.Exit(code)
