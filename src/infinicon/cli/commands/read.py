"""Questions to a server: query, hydrate, namespaces, stats, export."""

from __future__ import annotations

from pathlib import Path
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


@app.command(
    epilog='Examples: infinicon query "Where does Rosa live now?" --namespace home; '
    'infinicon query "what was decided" -n home --tag minutes --after 2026-05-01 --metadata project=apollo'
)
def query(
    text: Annotated[str, typer.Argument(help="The question, in your own words.")],
    *,
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 10,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only episode, atom or consolidation; may be repeated.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="Only with this tag; repeated: with all of them.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata", help="Only where metadata has NAME=VALUE, a JSON value or else text; may be repeated."
        ),
    ] = None,
    after: Annotated[str | None, typer.Option("--after", help="Only stored after this date or time (UTC).")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only stored before this date or time (UTC).")] = None,
    disputed: Annotated[bool, typer.Option("--disputed", help="Also what another memory contradicts.")] = False,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also what a newer memory has replaced.")] = False,
    strong: Annotated[bool, typer.Option("--strong", help="Wait for everything that was accepted before.")] = False,
    refs_only: Annotated[bool, typer.Option("--refs", help="Ranked refs without their content.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Find memory: what answers the question best, with its source."""
    from infinicon.cli import filtering, reading
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    filters = filtering.filters(
        types=types or (),
        tags=tags or (),
        metadata=metadata or (),
        after=after,
        before=before,
        disputed=disputed,
        superseded=superseded,
    )
    with Client(find(url, data_dir)) as client:
        scope = client.scope(namespace_of(namespace), agent, session)
        body = {"scope": scope, "query": text, "limit": limit, "consistency": "strong" if strong else "eventual"}
        reading.query(client, {**body, "filters": filters}, refs_only=refs_only, as_json=json)


@app.command(epilog="Example: infinicon hydrate 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d --namespace home")
def hydrate(
    ids: Annotated[list[str], typer.Argument(help="Ids of memories, as query shows them; TYPE:ID or ID alone.")],
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show whole memories: content, author, times, and where each comes from. Exit code 5 where one is missing."""
    from infinicon.cli import reading
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        reading.hydrate(client, client.scope(namespace_of(namespace)), ids, as_json=json)


@app.command(epilog="Example: infinicon namespaces --json")
def namespaces(json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """List the namespaces that the key may use."""
    from infinicon.cli import reading
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        reading.namespaces(client, as_json=json)


@app.command(epilog="Example: infinicon stats --namespace home")
def stats(
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Count what a namespace holds: memories by type and status, episodes on their way, jobs, index rows."""
    from infinicon.cli import reading
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        reading.stats(client, client.scope(namespace_of(namespace)), as_json=json)


@app.command(epilog="Example: infinicon export home > home.ndjson; infinicon ingest home.ndjson --namespace copy")
def export(
    namespace: Annotated[str, typer.Argument(help="The namespace to export.")],
    agent: AgentOption = None,
    session: SessionOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file to write, instead of standard output; .gz packs it.")
    ] = None,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write every episode of a namespace as NDJSON, one on a line, as `infinicon ingest` takes it back.

    Atoms and index are derived from the episodes, and not written. A file appears whole or not at all.
    """
    from infinicon.cli import exporting
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        exporting.export(client, client.scope(namespace, agent, session), output)
