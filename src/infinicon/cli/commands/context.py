"""context: what an agent should know for a task."""

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


@app.command(epilog='Example: infinicon context "Plan the weekend with Rosa" --namespace home --budget 1000 --text')
def context(
    task: Annotated[str, typer.Argument(help="What the context is for, in your own words.")],
    *,
    namespace: NamespaceOption = None,
    agent: AgentOption = None,
    session: SessionOption = None,
    budget: Annotated[int, typer.Option(min=1, help="How many tokens the context may cost.")] = 2_000,
    reserved: Annotated[int, typer.Option(min=0, help="How many of them are for something else.")] = 0,
    segments: Annotated[int | None, typer.Option(min=1, help="How many memories it may have.")] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="How tokens are counted: o200k_base (if not given), cl100k_base, chars, …")
    ] = None,
    disputed: Annotated[bool, typer.Option("--disputed", help="Also what another memory contradicts.")] = False,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also what a newer memory has replaced.")] = False,
    recent: Annotated[bool, typer.Option("--recent", help="Prefer what is newer.")] = False,
    strong: Annotated[bool, typer.Option("--strong", help="Wait for everything that was accepted before.")] = False,
    text: Annotated[
        bool, typer.Option("--text", help="Print the context as it goes into a prompt, and nothing else.")
    ] = False,
    json: JsonOption = False,
    url: UrlOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Assemble a context: memories that serve a task, as many as fit a budget, the oldest first."""
    from infinicon.cli import contexts
    from infinicon.cli.client import Client
    from infinicon.cli.connection import find

    bounds = {"maxTokens": budget, "reservedTokens": reserved, "maxSegments": segments, "tokenizer": tokenizer}
    constraints = {"includeDisputed": disputed, "includeSuperseded": superseded, "preferRecency": recent}
    with Client(find(url, data_dir)) as client:
        body = {
            "scope": client.scope(namespace_of(namespace), agent, session),
            "task": task,
            "budget": {name: value for name, value in bounds.items() if value is not None},
            "constraints": constraints,
            "consistency": "strong" if strong else "eventual",
            "format": "text",
        }
        contexts.show(client, body, only_text=text, as_json=json)
