"""How a context is shown."""

from __future__ import annotations

import sys

from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import ApiRefused, WrongUsage
from infinicon.cli.output import clipped, note, show_json, visible

PREVIEW = 160


def show(client: Client, body: Wire, *, only_text: bool, as_json: bool) -> None:
    """Ask for a context and print it: whole as JSON or text, or a line for each memory, for people.

    Raises:
        WrongUsage: no counter of tokens has this name.
    """
    try:
        reply = client.post("/v0/assemble-context", body)
    except ApiRefused as fault:
        names = fault.details.get("tokenizers")
        if not isinstance(names, list):
            raise
        raise WrongUsage(fault.message, f"one of {', '.join(map(str, names))}") from None
    if as_json:
        show_json(reply)
        return
    context = reply["context"]
    for warning in context["warnings"]:
        note(f"warning: {warning['message']}")
    if only_text:
        _write(reply["text"])
        return
    for segment in context["segments"]:
        ref = segment["ref"]
        who = f"{visible(segment['who'])}, " if "who" in segment else ""
        print(f"{segment['tokens']:>5} tokens  {segment['score']:.3f}  {ref['type']} {ref['id']}")
        print(f"      [{who}{segment['when']}] {clipped(segment['content'], PREVIEW)}")
    room = context["budget"]["maxTokens"] - context["budget"].get("reservedTokens", 0)
    number = len(context["segments"])
    of = f"{context['tokenEstimate']} of {room} tokens ({context['tokenizer']})"
    note(f"{number} {'memory' if number == 1 else 'memories'}, {of}")


def _write(text: str) -> None:
    """To a file or pipe as it is, so that it costs there what was counted; a terminal is spared what would move its cursor."""
    if sys.stdout.isatty():
        text = "".join(f"{visible(line)}\n" for line in text.splitlines())
    sys.stdout.write(text)
    sys.stdout.flush()
