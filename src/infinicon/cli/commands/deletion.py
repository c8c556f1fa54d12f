"""Deletion, its proof, and how long things are kept."""

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

policy = typer.Typer(
    name="policy",
    help="Show and change how long a namespace keeps things, when it is consolidated, and whether credentials are redacted. Needs a key "
    "with the permission admin.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(policy)

ReasonOption = Annotated[str, typer.Option(help="Why; kept with the tombstones, so it must not repeat what goes.")]


@app.command(epilog="Example: infinicon tombstone 019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d -n home --reason 'asked for'")
def tombstone(
    ids: Annotated[list[str], typer.Argument(help="Ids of memories, as query shows them; TYPE:ID or ID alone.")],
    reason: ReasonOption,
    namespace: NamespaceOption = None,
    cascade: Annotated[
        str, typer.Option(help="What happens to what was derived: none, mark_derived_stale or tombstone_derived.")
    ] = "tombstone_derived",
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Delete memories, at once and for good, with what was derived from them."""
    from infinicon.cli import deleting
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    with Client(find(url, data_dir)) as client:
        deleting.tombstone(client, client.scope(namespace_of(namespace)), ids, reason, cascade, as_json=json)


@app.command(epilog="Example: infinicon erase -n home --metadata person=p-17 --reason 'asked for by the person' --wait")
def erase(
    reason: ReasonOption,
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(help="Only episodes whose metadata has NAME=VALUE; may be repeated: then all of them."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="Needed to erase a whole namespace: without agent, session and metadata."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over; exit code 1 if it failed.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Erase everything of a scope that is there now, or the episodes with some metadata, with all that was derived from them."""
    from infinicon.cli import deleting
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    wanted = deleting.metadata_of(metadata or [])
    deleting.check_extent(agent, session, wanted, everything=everything)
    with Client(find(url, data_dir)) as client:
        scope = client.scope(namespace_of(namespace), agent, session)
        deleting.erase(client, scope, reason, wanted, everything=everything, wait=wait, as_json=json)


@app.command("verify-erasure", epilog="Example: infinicon verify-erasure --data-dir .demo < deleted.txt")
def verify_erasure(
    rewrite: Annotated[
        bool,
        typer.Option("--rewrite", help="Write the tables anew, under a lock, so that no dead bytes are left in them."),
    ] = False,
    skip_short: Annotated[
        bool,
        typer.Option("--skip-short", help="Sentences and values of fewer than 8 letters and digits do not matter."),
    ] = False,
    json: JsonOption = False,
    data_dir: DataDirOption = None,
) -> None:
    """Prove that a text is gone: it comes on standard input, and is looked for everywhere, for all tenants, after a VACUUM.

    Needs INFINICON_OWNER_DATABASE_URL with a role that sees every row, or the data directory of a running `infinicon up`. Exit code 0:
    nothing of it is left. 1: something is. 7: nothing was found, and not everything could be looked at, so that nothing is proven. It
    says what it does not look for, and what it cannot reach.
    """
    from infinicon.cli import deleting

    deleting.verify(data_dir, rewrite=rewrite, skip_short=skip_short, as_json=json)


@policy.command(epilog="Example: infinicon policy show home")
def show(
    place: Annotated[
        str | None, typer.Argument(metavar="[NAMESPACE]", help="The namespace, which may be an option as well.")
    ] = None,
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show a namespace's policy."""
    from infinicon.cli import policies
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    name, _ = policies.place_of([place] if place else [], namespace)
    with Client(find(url, data_dir)) as client:
        policies.show(client, client.scope(name), as_json=json)


@policy.command("set", epilog="Example: infinicon policy set home --consolidate-schedule '0 3 * * *' audit=30d")
def set_policy(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMESPACE] [NAME=VALUE]...",
            help="The namespace, which may be an option as well; then what is kept for how long: audit, default-expiry, job-retention, "
            "event-retention; 90s, 12h, 30d, or none. And redact-credentials, on or off: whether what looks like one is redacted.",
        ),
    ] = None,
    consolidate_schedule: Annotated[
        str | None, typer.Option(help="A crontab ('0 3 * * *') or a length of time (15m), in UTC; or none.")
    ] = None,
    consolidate_threshold: Annotated[
        str | None, typer.Option(help="So many atoms that wait in one scope; or none.")
    ] = None,
    consolidate_max_age: Annotated[
        str | None, typer.Option(help="When something has waited for so long (12h), however little; or none.")
    ] = None,
    consolidate_idle: Annotated[
        str | None, typer.Option(help="When nothing new came for so long (30m) and something waits; or none.")
    ] = None,
    consolidate_width: Annotated[
        str | None, typer.Option(help="Within what consolidations stay: session, agent or namespace.")
    ] = None,
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Change a namespace's policy: how long it keeps things, when what waits in it is consolidated, and whether credentials are redacted.

    What is not named stays as it is, and `none` gives it back to the house's setting, or turns it off.
    """
    from infinicon.cli import policies
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    name, pairs = policies.place_of(words or [], namespace)
    options = {
        "consolidate-schedule": consolidate_schedule,
        "consolidate-threshold": consolidate_threshold,
        "consolidate-max-age": consolidate_max_age,
        "consolidate-idle": consolidate_idle,
        "consolidate-width": consolidate_width,
    }
    wanted = policies.changes_of(pairs, options)
    with Client(find(url, data_dir)) as client:
        policies.change(client, client.scope(name), wanted, as_json=json)
