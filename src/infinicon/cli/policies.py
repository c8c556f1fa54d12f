"""What `infinicon policy` asks, and how it shows a namespace's policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import WrongUsage
from infinicon.cli.key_management import seconds
from infinicon.cli.options import namespace_of
from infinicon.cli.output import show_json, table

KEEPING = {
    "audit": "auditSeconds",
    "default-expiry": "defaultExpirySeconds",
    "job-retention": "jobRetentionSeconds",
    "event-retention": "eventRetentionSeconds",
}
CONSOLIDATING = {
    "consolidate-width": "consolidationWidth",
    "consolidate-schedule": "consolidationSchedule",
    "consolidate-threshold": "consolidationThreshold",
    "consolidate-max-age": "consolidationMaxAgeSeconds",
    "consolidate-idle": "consolidationIdleSeconds",
}
REDACTING = {"redact-credentials": "redactCredentials"}
POLICY = {**KEEPING, **CONSOLIDATING, **REDACTING}
"""Members of a policy, by their names on the command line."""

NONE: Mapping[str, str | int | bool] = {"audit": 0, "consolidate-width": "agent", "redact-credentials": False}
"""What `none` means where it is not null."""


def place_of(words: Sequence[str], namespace: str | None) -> tuple[str, list[str]]:
    """A namespace, which may come first or as an option, and NAME=VALUE pairs. Raises WrongUsage."""
    pairs = list(words)
    if pairs and "=" not in pairs[0]:
        if namespace is not None:
            raise WrongUsage(
                "two namespaces are given", f"or a member without its value: NAME=VALUE, one of {_names()}"
            )
        namespace = pairs.pop(0)
    return namespace_of(namespace), pairs


def changes_of(pairs: Sequence[str], options: Mapping[str, str | None]) -> Wire:
    """Members of the policy by their names on the wire; `options` that are None change nothing. Raises WrongUsage."""
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if name not in POLICY or not equals:
            raise WrongUsage("that is no member of a policy", f"one of {_names()}, as NAME=VALUE")
        given[name] = value
    given |= {name: value for name, value in options.items() if value is not None}
    if not given:
        raise WrongUsage("nothing is changed", "for example --consolidate-schedule '0 3 * * *', or audit=30d")
    return {POLICY[name]: _value(name, value) for name, value in given.items()}


def _value(name: str, text: str) -> str | int | bool | None:
    if text == "none":
        return NONE.get(name)
    if name == "consolidate-width":
        return text
    if name == "redact-credentials":
        if text not in {"on", "off"}:
            raise WrongUsage("redact-credentials is on or off", "for example redact-credentials=on, or none")
        return text == "on"
    if name == "consolidate-threshold":
        if not text.isascii() or not text.isdigit():
            raise WrongUsage("a threshold is a number of atoms", "for example --consolidate-threshold 200, or none")
        return int(text)
    if name == "consolidate-schedule":
        return _schedule(text)
    return seconds(text)


def _schedule(text: str) -> str | int:
    """A crontab has spaces, and is the server's to read; a length of time has none."""
    if len(text.split()) > 1:
        return text
    try:
        return seconds(text)
    except WrongUsage:
        raise WrongUsage(
            "a schedule is a crontab of five fields or a length of time",
            "for example --consolidate-schedule '0 3 * * *' (UTC), --consolidate-schedule 15m, or none",
        ) from None


def _names() -> str:
    return ", ".join(POLICY)


def change(client: Client, scope: Wire, changes: Wire, *, as_json: bool) -> None:
    """Change members, and show what the policy is then."""
    _show(client.post("/v0/policy", {"scope": scope, "policy": changes}), as_json=as_json)


def show(client: Client, scope: Wire, *, as_json: bool) -> None:
    """Print the policy."""
    names = ("tenantId", "namespaceId")
    _show(client.get("/v0/policy", {name: scope[name] for name in names}), as_json=as_json)


def _show(reply: Wire, *, as_json: bool) -> None:
    if as_json:
        show_json(reply)
        return
    found = reply["policy"]
    rows = [(name, _shown(name, found.get(wire), "as the house has it")) for name, wire in KEEPING.items()]
    rows += [(name, _shown(name, found.get(wire), "off")) for name, wire in CONSOLIDATING.items()]
    rows += [(name, "on" if found.get(wire) else "off") for name, wire in REDACTING.items()]
    if "consolidationThreshold" in found and "consolidationMaxAgeSeconds" not in found:
        rows = [(name, "86400 s" if name == "consolidate-max-age" else value) for name, value in rows]
    table(("member", "value"), rows)


def _shown(name: str, value: object, absent: str) -> str:
    if value is None:
        return absent
    if name == "consolidate-threshold":
        return f"{value} atom{'' if value == 1 else 's'}"
    return f"{value} s" if isinstance(value, int) and value is not True else str(value)
