"""Answers: strict JSON in UTF-8, never stored by anything in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from infinicon.api import strict_json

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        strict_json.dumps(value), status, headers={**HEADERS, **(headers or {})}, media_type="application/json"
    )
