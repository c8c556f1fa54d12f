"""Bringing things in: ingest."""

from __future__ import annotations

import enum
from typing import Annotated, TypeAlias

import typer

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, NamespaceOption, UrlOption, namespace_of


class Format(enum.StrEnum):
    """What the input is; auto tells by its name, else by how it begins."""

    auto = "auto"
    ndjson = "ndjson"
    chat = "chat"
    text = "text"
    markdown = "markdown"


class Lane(enum.StrEnum):
    """interactive goes ahead of bulk."""

    interactive = "interactive"
    bulk = "bulk"


class OnError(enum.StrEnum):
    """What a line that cannot be read does."""

    stop = "stop"
    skip = "skip"


FilesArgument: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="FILE…", help="Files, folders of them, or - for standard input; gzip is unpacked."),
]
FormatOption: TypeAlias = Annotated[Format, typer.Option(help="What the input is, where its name does not say it.")]
MapOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--map", metavar="TARGET=FIELD,…", help="Which fields of other JSON are which of an episode."),
]
AuthorOption: TypeAlias = Annotated[
    str | None, typer.Option("--author", "--speaker", help="Who says it, where the input does not.")
]
SourceOption: TypeAlias = Annotated[
    str | None, typer.Option(help="What the input is called in keys and messages, instead of the file's name.")
]
PatienceOption: TypeAlias = Annotated[
    float, typer.Option(min=0, help="Seconds without any success before it gives up on a busy server.")
]
WaitOption: TypeAlias = Annotated[
    bool, typer.Option("--wait", help="End when everything is indexed; exit code 1 if some failed.")
]
DryRunOption: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Read, count, show the first episode, send nothing.")
]

EPILOG = """The same command again adds nothing twice: it goes on where it was interrupted or killed. Formats, --map, keys: docs/ingest.md.

\b
Examples:
  infinicon ingest notes/ --namespace home --wait
  infinicon ingest conversations.json --namespace home --label chatgpt
  tail -f chat.jsonl | infinicon ingest - --namespace home --lane interactive
  infinicon ingest turns.jsonl.gz --namespace sgd --map content=t,speaker=s,dedupeKey=d+i
"""


@app.command(epilog=EPILOG)
def ingest(
    files: FilesArgument,
    *,
    namespace: NamespaceOption = None,
    agent: Annotated[str | None, typer.Option(help="The agent whose memory it becomes.")] = None,
    session: Annotated[str | None, typer.Option(help="The session that it belongs to.")] = None,
    label: Annotated[str | None, typer.Option(help="Groups the jobs; made of the files' names if not given.")] = None,
    lane: Annotated[
        Lane | None,
        typer.Option(
            help="Whether it goes ahead of other work; if not given, small requests do, and large ones do not."
        ),
    ] = None,
    wait: WaitOption = False,
    format: FormatOption = Format.auto,  # noqa: A002 - it names the option
    fields: MapOption = None,
    author: AuthorOption = None,
    source: SourceOption = None,
    on_error: Annotated[OnError, typer.Option(help="What a line does that cannot be read.")] = OnError.stop,
    in_flight: Annotated[int, typer.Option(min=1, max=64, help="Requests at once.")] = 4,
    batch: Annotated[int, typer.Option(min=1, max=1000, help="Episodes in a request, up to 4 MiB together.")] = 500,
    patience: PatienceOption = 600.0,
    dry_run: DryRunOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Bring in files: JSON lines of episodes, chats as {role, content} or exports of them, text, Markdown."""
    from infinicon.cli.ingesting import formats, run, sources
    from infinicon.cli.ingesting.mapping import FieldMap
    from infinicon.cli.ingesting.rehearsal import rehearse
    from infinicon.cli.ingesting.shaping import Defaults

    found = sources.expand(files, source)
    mapped = None if fields is None else FieldMap.parse(fields)
    reader = formats.Reader(formats.Format(format.value), mapped, Defaults(author, agent, session))
    if dry_run:
        rehearse(found, reader, batch=batch, skip=on_error is OnError.skip, as_json=json)
        return
    options = run.Options(
        namespace=namespace_of(namespace),
        label=label or run.label_of(found),
        lane=None if lane is None else lane.value,
        in_flight=in_flight,
        batch=batch,
        patience=patience,
        skip=on_error is OnError.skip,
        wait=wait,
        quiet=quiet,
        as_json=json,
    )
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        run.ingest(client, found, reader, options)
