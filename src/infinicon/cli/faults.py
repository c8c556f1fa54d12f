"""What can go wrong for a command, each with the exit code it ends with and the remedy it names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from infinicon.cli import exits


class CommandFailed(Exception):
    """The command cannot go on. `message` says what happened, `remedy` what to do about it."""

    EXIT: ClassVar[int] = exits.FAILED

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def exit_code(self) -> int:
        """What the process ends with (exits.py)."""
        return self.EXIT


class WrongUsage(CommandFailed):
    """What the command line says does not make sense together."""

    EXIT = exits.USAGE


class NoServer(CommandFailed):
    """Nobody answers, or nothing says where to ask."""

    EXIT = exits.NO_SERVER


class ApiRefused(CommandFailed):
    """The API answered with an error: a MemoryApiError, or what a proxy made of it. Never holds what was sent."""

    def __init__(
        self,
        path: str,
        status: int,
        code: str,
        message: str = "",
        *,
        retryable: bool = False,
        details: Mapping[str, Any] = MappingProxyType({}),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(
            f"{path} answered {status} {code}" + (f": {message}" if message else ""), _remedy(status, code, path)
        )
        self.status = status
        self.code = code
        self.reason = message
        self.retryable = retryable
        self.details = details
        self.retry_after = retry_after

    @property
    def exit_code(self) -> int:
        if self.status in {401, 403}:
            return exits.REFUSED
        if self.status == 404 and self.code == "not_found":
            return exits.NOT_FOUND
        if self.status in {400, 422}:
            return exits.USAGE
        return exits.TEMPORARY if self.retryable or self.status in {429, 502, 503, 504} else exits.FAILED


REMEDIES = {
    401: "check INFINICON_API_KEY: `infinicon keys list` shows which keys are valid",
    403: "use a key that has the permission and the namespace: `infinicon keys create --help`",
    404: "is the id right, and the namespace that it is looked for in (--namespace)?",
    413: "send less at once",
}
BUSY = "try again in a moment; `infinicon doctor` says what is slow or down"


OF_THE_TENANT = {"secrets": "secrets", "redact": "secrets", "keys": "keys"}
"""What belongs to no namespace, by the second part of its path: the command whose list shows the ids."""


def _remedy(status: int, code: str, path: str) -> str:
    if status == 404 and code != "not_found":
        return "is this the address of an Infinicon server? INFINICON_URL names the root, without a path"
    kind = path.split("/")[2] if path.startswith("/v0/") else ""
    if status == 404 and kind in OF_THE_TENANT:
        return f"is the id right? `infinicon {OF_THE_TENANT[kind]} list` shows those that there are"
    return REMEDIES.get(status, BUSY if status in {429, 502, 503, 504} else "")
