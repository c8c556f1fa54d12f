"""What happened in a namespace: once, or as it happens."""

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


@app.command(epilog="Example: infinicon events home --follow --types memory.indexed,memory.tombstoned")
def events(
    name: Annotated[str | None, typer.Argument(metavar="NAMESPACE", help="The same as --namespace.")] = None,
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    types: Annotated[
        list[str] | None, typer.Option(help="Only events of these types, separated by commas; may be repeated.")
    ] = None,
    cursor: Annotated[
        str | None, typer.Option("--from", help="Events after this cursor; from the oldest that is kept if not given.")
    ] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show what happened, one event a line: time, type, memory, job. Events carry ids and no content.

    With --follow it finds the server again after a restart, and goes on where it was. With --json every line is an event as the API
    sends it, with its cursor.
    """
    from infinicon.cli import event_feed
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find
    from infinicon.cli.faults import WrongUsage

    if name and namespace and name != namespace:
        raise WrongUsage("two namespaces are given", "name one, as an argument or by --namespace")
    wanted = event_feed.Wanted(
        namespace_of(name or namespace), agent, session, event_feed.chosen(types or ()), cursor, json
    )
    if follow:
        event_feed.follow(lambda: Client(find(url, data_dir)), wanted)
    else:
        with Client(find(url, data_dir)) as client:
            event_feed.read(client, wanted)
