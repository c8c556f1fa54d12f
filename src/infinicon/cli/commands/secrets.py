"""Secrets of two kinds: those of an installation, as files; and those of a tenant, which are redacted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import typer.core

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, UrlOption, named

if TYPE_CHECKING:
    from typer._click.core import Context

FILES = "files"


class FolderOrCommand(typer.core.TyperGroup):
    """`infinicon secrets FOLDER` was there before the commands were: what is none of them is a folder. One that is called as a command is
    reached by `files`, or as ./add."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [FILES, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


secrets = typer.Typer(
    name="secrets",
    help="Secrets that are redacted in all that is written: add, list, remove (needs a key with the permission admin). And those of an "
    "installation, as files: `infinicon secrets FOLDER` is `infinicon secrets files FOLDER`.",
    cls=FolderOrCommand,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(secrets)


@secrets.command(epilog="Example: infinicon secrets add --from-file deploy-token.txt")
def add(
    from_file: Annotated[
        Path | None, typer.Option(help="Read the value from this file; from standard input if not given.", parser=named)
    ] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Make a secret known: from now on `[REDACTED:<secretId>]` stands in its place in all that the tenant writes.

    The value is read from standard input or a file, never from the command line, which other users of this host can see. One line end
    after it is not part of it. What was written before is found by `infinicon redact --secret ID`.
    """
    from infinicon.cli import secret_values

    secret_values.add(url, data_dir, from_file, as_json=json)


@secrets.command("list", epilog="Example: infinicon secrets list")
def list_secrets(json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """List the tenant's secrets: ids and times. Nothing gives their values back."""
    from infinicon.cli import secret_values

    secret_values.show(url, data_dir, as_json=json)


@secrets.command(epilog="Example: infinicon secrets remove 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d")
def remove(
    secret: Annotated[str, typer.Argument(help="The secret's id, as `secrets list` shows it.")],
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Forget a secret: it is redacted no longer. Markers that stand for it stay."""
    from infinicon.cli import secret_values

    secret_values.remove(url, data_dir, secret, as_json=json)


@secrets.command(FILES, epilog="Example: infinicon secrets secrets")
def files(
    folder: Annotated[Path, typer.Argument(help="Where the files go.", parser=named)],
    database: Annotated[
        str, typer.Option(help="Host, or host:port, where the processes reach Postgres.")
    ] = "postgres:5432",
    broker: Annotated[
        str, typer.Option(help="Host, or host:port, where the processes reach the broker.")
    ] = "valkey:6379",
    json: JsonOption = False,
) -> None:
    """Make the secrets of an installation, one file each, readable by you alone. A file that is there stays as it is.

    The files are what docker-compose.yml hands to its services, and what INFINICON_…_FILE may name anywhere else. The word `files` may be
    left out.
    """
    from infinicon.cli.secret_files import run

    run(folder, database=database, broker=broker, as_json=json)


@app.command(epilog="Example: infinicon redact --secret 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d --wait")
def redact(
    secret: Annotated[str, typer.Option(help="The secret's id, as `secrets list` shows it.")],
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over; exit code 1 if it failed.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Take a secret that became known later out of all that the tenant has stored. Needs a key with the permission admin."""
    from infinicon.cli import secret_values

    secret_values.redact(url, data_dir, secret, wait=wait, as_json=json)
