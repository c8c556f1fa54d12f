"""What people say of memories that contradict each other."""

from __future__ import annotations

from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, NamespaceOption, UrlOption, namespace_of

REF = "as query shows it; TYPE:ID or ID alone."


@app.command(
    epilog="Example: infinicon dispute 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e -n home"
)
def dispute(
    first: Annotated[str, typer.Argument(metavar="REF", help=f"A memory, {REF}")],
    second: Annotated[str, typer.Argument(metavar="REF", help="The memory that contradicts it.")],
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Say that two memories contradict each other: both are disputed until that is resolved."""
    from infinicon.cli import correcting
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        correcting.dispute(client, client.scope(namespace_of(namespace)), first, second, as_json=json)


@app.command(
    epilog="Example: infinicon resolve 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d --holds 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e -n home"
)
def resolve(
    refs: Annotated[list[str], typer.Argument(help=f"Memories whose contradictions are settled, {REF}")],
    holds: Annotated[
        str | None,
        typer.Option(metavar="REF", help="The one that holds: the others are superseded by it. If not given, none is."),
    ] = None,
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Settle the contradictions of memories, and say which one holds; without --holds they were an error.

    Of two memories of which one gave way to the other by a consolidation: take that back, for good.
    """
    from infinicon.cli import correcting
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        correcting.resolve(client, client.scope(namespace_of(namespace)), refs, holds, as_json=json)
