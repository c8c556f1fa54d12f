"""Jobs: what became of accepted work, and what can be done about it."""

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
from infinicon.domain import JobStatus


@app.command(epilog="Example: infinicon jobs --namespace home --label archive --watch")
def jobs(
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help="One job in full, by its id; all if not given.")
    ] = None,
    *,
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs in this status.")] = None,
    label: Annotated[str | None, typer.Option(help="Only jobs with this label, as ingest gave it.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many to list; the summary is of all.")] = 20,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show every change until all is over.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End JOB: what is not indexed yet will not be.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Queue again what of JOB failed or was cancelled.")] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List jobs, the newest first, or show one with its error and what to do about it.

    With --watch the exit code is 0 when all completed, and 1 when one failed or was cancelled; with --json every change is a line.
    """
    from infinicon.cli import job_control as control
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find
    from infinicon.cli.faults import WrongUsage

    if cancel and retry:
        raise WrongUsage("--cancel and --retry contradict each other", "give one of them")
    if (cancel or retry) and job is None:
        raise WrongUsage("which job is not said", "name it: infinicon jobs JOB --cancel, or --retry")
    if job is not None and (status or label):
        raise WrongUsage("--status and --label choose from a list, and JOB is one", "give either")
    wanted = {name: str(value) for name, value in (("status", status), ("label", label)) if value is not None}
    with Client(find(url, data_dir)) as client:
        known = control.Jobs(client, client.scope(namespace_of(namespace), agent, session), wanted)
        changed = known.change(job, "cancel" if cancel else "retry") if job and (cancel or retry) else None
        if watch:
            code = (
                control.watch_job(known, job, as_json=json) if job else control.watch_list(known, limit, as_json=json)
            )
            raise typer.Exit(code)
        if job is None:
            control.show_list(known, limit, as_json=json)
        else:
            control.show_job(changed or known.one(job), as_json=json)
