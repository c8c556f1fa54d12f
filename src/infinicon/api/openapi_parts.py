"""Pieces of which the operations of the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from infinicon.api import limits
from infinicon.api.wire.parameters import LONGEST_CURSOR
from infinicon.api.wire.shared import MemoryApiError
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

SCHEMAS = "#/components/schemas/{model}"
ERRORS = {
    400: "invalid_request, invalid_cursor, scope_mismatch: the body, the count, the scope or a parameter breaks a rule.",
    401: "unauthorized: no valid key.",
    403: "unauthorized: the key lacks the permission, the tenant or the namespace.",
    404: "not_found: unknown, foreign and malformed ids alike.",
    413: "too_large: the body is over its limit.",
    415: "unsupported_media_type: the body is not JSON in UTF-8, or is compressed.",
    422: "idempotency_conflict: the same Idempotency-Key came with another body.",
    429: "overloaded: come back after Retry-After seconds.",
    500: "internal: a fault of ours.",
    503: "unavailable: the database or the encoder does not answer, or the database is out of something, such as disk.",
    504: "index_timeout, consistency_unavailable: what was waited for did not happen in time.",
}
WITH_BODY = (400, 401, 403, 413, 415, 429, 500, 503)

SCOPE = {"tenantId": "acme", "namespaceId": "support"}
EPISODE_REF = {"id": "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d", "type": "episode", "scope": SCOPE}


def json(model: type[Body], example: object = None) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": {"$ref": SCHEMAS.format(model=model.__name__)}}
    if example is not None:
        media["example"] = example
    return {"application/json": media}


def _failures(statuses: Sequence[int]) -> dict[str, Any]:
    answers = {str(status): {"description": ERRORS[status], "content": json(MemoryApiError)} for status in statuses}
    if "401" in answers:
        answers["401"]["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    for status in {"429", "503"} & answers.keys():
        answers[status]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return {**answers, "default": {"description": "Any other error.", "content": json(MemoryApiError)}}


def operation(
    name: str,
    summary: str,
    *,
    reply: type[Body],
    statuses: Sequence[int],
    permission: Permission | None = None,
    request: type[Body] | None = None,
    example: object = None,
    parameters: Sequence[dict[str, Any]] = (),
    keyless: bool = False,
) -> dict[str, Any]:
    """Keyword arguments for a route's decorator. `permission` None: any valid key may; `keyless`: nobody needs one."""
    extra: dict[str, Any] = {
        "responses": {"200": {"description": "The answer.", "content": json(reply)}, **_failures(statuses)},
    }
    if not keyless:
        extra["security"] = [{"apiKey": []}]
    if permission is not None:
        extra["x-permission"] = permission.value
    if request is not None:
        extra["requestBody"] = {"required": True, "content": json(request, example)}
    if parameters:
        extra["parameters"] = list(parameters)
    return {"operation_id": name, "summary": summary, "openapi_extra": extra}


def parameter(name: str, place: str, description: str, *, required: bool, longest: int) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    return {"name": name, "in": place, "required": required, "description": description, "schema": schema}


def health(
    name: str, summary: str, status: str, failures: Sequence[int] = (), warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """`warnings`: what it may tell of besides."""
    properties: dict[str, Any] = {"status": {"type": "string", "const": status}}
    if warnings:
        properties["warnings"] = {"type": "array", "items": {"type": "string", "enum": list(warnings)}}
    schema = {"type": "object", "required": ["status"], "properties": properties}
    answers: dict[str, Any] = {"200": {"description": "Yes.", "content": {"application/json": {"schema": schema}}}}
    for failure in failures:
        answers[str(failure)] = {"description": ERRORS[failure], "content": json(MemoryApiError)}
    return {"operation_id": name, "summary": summary, "openapi_extra": {"responses": answers}}


def without_body(operation: dict[str, Any]) -> dict[str, Any]:
    """HEAD of what a GET answers."""
    answers = operation["openapi_extra"]["responses"]
    bare = {status: {"description": reply["description"]} for status, reply in answers.items()}
    name = operation["operation_id"]
    return {
        "operation_id": f"{name}Head",
        "summary": f"{operation['summary']} Without a body",
        "response_class": Response,  # the framework would promise JSON otherwise
        "openapi_extra": {"responses": bare},
    }


def scope_parameters(*, agents: bool = True) -> list[dict[str, Any]]:
    """The scope of a GET."""
    longest = limits.IDENTIFIER_CHARACTERS
    return [
        parameter(name, "query", "Of the scope.", required=name in {"tenantId", "namespaceId"}, longest=longest)
        for name in ("tenantId", "namespaceId", *(("agentId", "sessionId") if agents else ()))
    ]


def page_parameters(usual: int, most: int) -> list[dict[str, Any]]:
    """Where a page begins, and how long it may be."""
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": usual}
    return [
        {"name": "limit", "in": "query", "required": False, "description": "How many at most.", "schema": schema},
        parameter("cursor", "query", "From the page before.", required=False, longest=LONGEST_CURSOR),
    ]
