"""Entries under a memoryRef, within a budget, and what memoryRefs stand for."""

from __future__ import annotations

from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import AgentOption, DataDirOption, JsonOption, NamespaceOption, SessionOption, UrlOption

memory = typer.Typer(
    name="memory",
    help="Entries under a memoryRef: list what fits a budget, put, get, delete. Its scope is bound to it, or the namespace of that name.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
bindings = typer.Typer(
    name="bindings",
    help="For which scope a memoryRef stands. Needs a key with the permission admin.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(memory)
app.add_typer(bindings)

RefArgument = Annotated[str, typer.Argument(metavar="MEMORYREF", help="Bound to a scope, or the name of a namespace.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of an entry, as `memory list` shows it.")]


@memory.command(
    "list",
    epilog="Examples: infinicon memory list home --budget 800; infinicon memory list home --budget 800 --query 'refund policy'",
)
def list_entries(
    ref: RefArgument,
    budget: Annotated[
        int | None, typer.Option(min=0, help="What all entries together may count: tokens, in the host's unit.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0: as many as there are.")] = 0,
    tag: Annotated[str | None, typer.Option(help="Only entries with exactly this tag.")] = None,
    query: Annotated[str | None, typer.Option(help="The most relevant to this first, instead of the newest.")] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List entries, the newest or the most relevant first, as many as fit."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.listed(client, ref, budget=budget, limit=limit, tag=tag, query=query, as_json=json)


@memory.command(epilog="Example: infinicon memory put home 'Refunds take five working days.' --tag policy")
def put(
    ref: RefArgument,
    content: Annotated[str, typer.Argument(help="What to remember, word for word; - reads standard input.")],
    tags: Annotated[list[str] | None, typer.Option("--tag", help="May be repeated.")] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it runs out: RFC 3339, or a time from now: 12h, 30d.")
    ] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Store an entry; it is listed at once."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.put(client, ref, content, tags or (), expires, as_json=json)


@memory.command(epilog="Example: infinicon memory get home 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d")
def get(
    ref: RefArgument, entry: IdArgument, json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None
) -> None:
    """Show one entry. Exit code 5 where there is none."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.get(client, ref, entry, as_json=json)


@memory.command(epilog="Example: infinicon memory delete home 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d")
def delete(
    ref: RefArgument, entry: IdArgument, json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None
) -> None:
    """Delete an entry for good, with what was derived from it. Exit code 5 where there is none."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.delete(client, ref, entry, as_json=json)


@bindings.command("list", epilog="Example: infinicon bindings list")
def list_bindings(json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """List what memoryRefs stand for."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.bindings(client, as_json=json)


@bindings.command("set", epilog="Example: infinicon bindings set mem:agent-7 --namespace support --agent agent-7")
def set_binding(
    ref: Annotated[str, typer.Argument(metavar="MEMORYREF", help="Any name.")],
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let a memoryRef stand for a scope."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find
    from infinicon.cli.options import namespace_of

    with Client(find(url, data_dir)) as client:
        view.bind(client, ref, client.scope(namespace_of(namespace), agent, session), as_json=json)


@bindings.command(epilog="Example: infinicon bindings remove mem:agent-7")
def remove(
    ref: Annotated[str, typer.Argument(metavar="MEMORYREF", help="As `bindings list` shows it.")],
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let a memoryRef stand for the namespace of its name again. No memory is deleted. Exit code 5 where it was not bound."""
    from infinicon.cli import memory_view as view
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        view.unbind(client, ref, as_json=json)
