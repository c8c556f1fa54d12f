"""The search index, derived anew."""

from __future__ import annotations

from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, NamespaceOption, UrlOption, namespace_of


@app.command(epilog="Example: infinicon reindex --namespace home --wait")
def reindex(
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over; exit code 1 where it failed.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Derive the index of a namespace anew from its memories; queries go on being answered. Needs the permission admin.

    Where one runs already, that is the job.
    """
    from infinicon.cli import job_control
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        raise typer.Exit(job_control.reindex(client, client.scope(namespace_of(namespace)), wait=wait, as_json=json))
