"""The command line's root, to which the modules of `commands` add theirs."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = """A self-hosted memory runtime for AI agents.

Commands that talk to a server find it by --url (INFINICON_URL, with the key in INFINICON_API_KEY), else by the data directory of a
running `infinicon up` (--data-dir, INFINICON_DATA_DIR, .infinicon here).

Exit codes: 0 fine, 1 the work failed, 2 wrong usage or setting, 3 no server, 4 key or permission refused, 5 not found,
6 temporary (try again), 130 interrupted.
"""

app = typer.Typer(
    name="infinicon", help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import infinicon

        print(infinicon.__version__)
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass
