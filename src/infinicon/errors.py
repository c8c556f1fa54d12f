"""Every failure that Infinicon reports, as one tree.

    InfiniconError                    code                     retryable  HTTP
    ├── InvalidRequest                invalid_request          no         400
    │   ├── InvalidCursor             invalid_cursor           no         400
    │   └── ScopeMismatch             scope_mismatch           no         400
    ├── Unauthorized                  unauthorized             no         401 without a valid key, 403 with one
    ├── NotFound                      not_found                no         404
    ├── MethodNotAllowed              method_not_allowed       no         405
    ├── TooLarge                      too_large                no         413
    ├── UnsupportedMediaType          unsupported_media_type   no         415
    ├── ConsistencyNotSupported       consistency_not_supported no        422
    ├── IdempotencyConflict           idempotency_conflict     no         422
    ├── DedupeConflict                dedupe_conflict          no         (an episode's result, inside a 200)
    ├── InvalidContent                invalid_content          no         (an episode's result, or a stage's fault)
    ├── Overloaded                    overloaded               yes        429
    ├── Unavailable                   unavailable              yes        503
    ├── IndexTimeout                  index_timeout            yes        504
    ├── ConsistencyUnavailable        consistency_unavailable  yes        504
    ├── Cancelled                     cancelled                no         (a job's error, and its episodes')
    ├── StageTimeout                  stage_timeout            yes        (a job's error)
    ├── PluginFailed                  plugin_failed            no         (a job's error)
    ├── EmptySynthesis                empty_synthesis          no         (a job's error)
    ├── LeaseLost                     lease_lost               yes        (never leaves a worker)
    ├── MissingDependency             missing_dependency       no         (a process that cannot start)
    └── Internal                      internal                 yes        500

`code` is the class's own; `message` is a sentence for a person; `details` name fields, rules and limits. None of the
three ever holds text that a caller sent: messages travel to logs, job rows and Flower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

Detail: TypeAlias = "str | int | float | bool | list[Detail] | dict[str, Detail] | None"


class InfiniconError(Exception):
    """The root. Its subclasses carry a stable `code`, whether a retry can help, and an HTTP status."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, details: Mapping[str, Detail] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Detail] = dict(details or {})

    def to_wire(self) -> dict[str, Detail]:
        """The MemoryApiError: {code, message, retryable, details?}."""
        wire: dict[str, Detail] = {"code": self.code, "message": self.message, "retryable": self.retryable}
        if self.details:
            wire["details"] = self.details
        return wire


class InvalidRequest(InfiniconError):
    """A body, count, scope or parameter breaks a documented rule; `details` names field and rule."""

    code = "invalid_request"
    http_status = 400


class InvalidCursor(InvalidRequest):
    """A cursor is unknown, expired, malformed or past the head."""

    code = "invalid_cursor"


class ScopeMismatch(InvalidRequest):
    """A cursor belongs to another scope."""

    code = "scope_mismatch"


class Unauthorized(InfiniconError):
    """No valid key (401), or a key without the permission, tenant or namespace (403)."""

    code = "unauthorized"
    http_status = 401

    def __init__(
        self, message: str, *, authenticated: bool = False, details: Mapping[str, Detail] | None = None
    ) -> None:
        super().__init__(message, details=details)
        self.authenticated = authenticated


class NotFound(InfiniconError):
    """Unknown, foreign and malformed ids are all the same answer."""

    code = "not_found"
    http_status = 404


class MethodNotAllowed(InfiniconError):
    """The path exists, the method does not."""

    code = "method_not_allowed"
    http_status = 405


class TooLarge(InfiniconError):
    """A body or an episode is over its documented limit."""

    code = "too_large"
    http_status = 413


class UnsupportedMediaType(InfiniconError):
    """A request body that is not JSON, or an episode whose contentType nothing here can read."""

    code = "unsupported_media_type"
    http_status = 415


class ConsistencyNotSupported(InfiniconError):
    """The operation does not offer the consistency that was asked for."""

    code = "consistency_not_supported"
    http_status = 422


class IdempotencyConflict(InfiniconError):
    """The same Idempotency-Key came with another body."""

    code = "idempotency_conflict"
    http_status = 422


class DedupeConflict(InfiniconError):
    """The same dedupeKey came with other content; the original stands."""

    code = "dedupe_conflict"
    http_status = 409


class InvalidContent(InfiniconError):
    """An episode's content cannot be stored or read (NUL, lone surrogate, not of its contentType)."""

    code = "invalid_content"
    http_status = 400


class Overloaded(InfiniconError):
    """More requests than the process takes at once, or a key may make in a minute; try again after `retry_after` seconds."""

    code = "overloaded"
    retryable = True
    http_status = 429

    def __init__(self, message: str, *, details: Mapping[str, Detail] | None = None, retry_after: int = 1) -> None:
        super().__init__(message, details=details)
        self.retry_after = retry_after


class Unavailable(InfiniconError):
    """Postgres, the broker or the encoder does not answer, or is out of what it needs; the message says which, such as a full disk."""

    code = "unavailable"
    retryable = True
    http_status = 503


class IndexTimeout(InfiniconError):
    """The episodes are stored, but were not all visible to query in time."""

    code = "index_timeout"
    retryable = True
    http_status = 504


class ConsistencyUnavailable(InfiniconError):
    """Strong consistency was asked for, and pending work did not finish in time."""

    code = "consistency_unavailable"
    retryable = True
    http_status = 504


class Cancelled(InfiniconError):
    """The job was cancelled before it came to this; a retry of the job, or the same episode sent again, queues it once more."""

    code = "cancelled"
    http_status = 409


class StageTimeout(InfiniconError):
    """A stage did not finish within its attempts and ceilings."""

    code = "stage_timeout"
    retryable = True


class PluginFailed(InfiniconError):
    """A plug-in raised, or returned what its contract forbids. The message names type and stage, not text."""

    code = "plugin_failed"


class EmptySynthesis(InfiniconError):
    """A consolidator made a text that says nothing; what it was to replace stays as it is."""

    code = "empty_synthesis"


class LeaseLost(InfiniconError):
    """Another worker holds the batch now; this one's writes are rolled back."""

    code = "lease_lost"
    retryable = True


class MissingDependency(InfiniconError):
    """A model, binary, role or extension that the process needs is not there; the message names it."""

    code = "missing_dependency"


class Internal(InfiniconError):
    """A fault of ours. The reply carries no more than this."""

    code = "internal"
    retryable = True
