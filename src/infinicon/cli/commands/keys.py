"""API keys: of the tenant whose admin asks, and, as the database's owner, of any tenant."""

from __future__ import annotations

from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, UrlOption

keys = typer.Typer(
    name="keys",
    help="Make, list, rotate and revoke API keys. Needs a key with the permission admin.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(keys)

KeyArgument = Annotated[str, typer.Argument(help="The key's id, as `keys list` shows it.")]


@keys.command(
    epilog="Example: infinicon keys create --label bot --permission ingest --permission query --namespace support"
)
def create(
    label: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    permission: Annotated[
        list[str] | None,
        typer.Option(help="One of the permissions; may be repeated. All but audit and admin if not given."),
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Limit it to this namespace; may be repeated.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it runs out: RFC 3339, or a time from now: 12h, 30d.")
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(help="Make this tenant if it is new, and a key with all permissions, as the database's owner."),
    ] = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Make a key. It is printed once, on standard output, and kept nowhere.

    With --tenant it is the first key of a tenant: that needs no key but INFINICON_OWNER_DATABASE_URL, or the data directory of a
    running `infinicon up`.
    """
    from infinicon.cli import key_management as management

    if tenant is not None:
        management.found(tenant, label, permission, namespace, expires, data_dir, as_json=json)
    else:
        management.create(url, data_dir, label, permission, namespace, expires, as_json=json)


@keys.command("list", epilog="Example: infinicon keys list")
def list_keys(json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """List the tenant's keys: ids, what they may do, and whether they still work. The keys themselves are kept nowhere."""
    from infinicon.cli import key_management as management

    management.show(url, data_dir, as_json=json)


@keys.command(epilog="Example: infinicon keys rotate 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d --overlap 1h")
def rotate(
    key: KeyArgument,
    overlap: Annotated[str, typer.Option(help="How long the old key goes on working: 0, 90s, 10m, 12h, 7d.")] = "24h",
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Make a key's successor; both work until the overlap ends, so nobody is cut off."""
    from infinicon.cli import key_management as management

    management.rotate(url, data_dir, key, overlap, as_json=json)


@keys.command(epilog="Example: infinicon keys revoke 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d")
def revoke(key: KeyArgument, json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """Shut a key out, at once and for good."""
    from infinicon.cli import key_management as management

    management.revoke(url, data_dir, key, as_json=json)
