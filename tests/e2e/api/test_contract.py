"""The OpenAPI document against the server that it describes: no answer is a 500, and none is undocumented.

schemathesis makes the requests from the document alone, whether they fit it or not. The tenant is put right in them, so that they get
beyond the door.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from infinicon.cli.instance import Instance

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.json"
FOUND: list[Any] = list(schemathesis.openapi.from_path(str(DOCUMENT)).get_all_operations())
OPERATIONS = {operation.label: operation for operation in (found.ok() for found in FOUND)}


@pytest.mark.parametrize("label", OPERATIONS)
def test_answers_are_as_documented(label: str, live: Instance) -> None:
    headers = {"Authorization": f"Bearer {live.api_key}", "Accept": "application/json"}

    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy())
    def ask(case: Any) -> None:
        _enter(case, live.tenant_id)
        case.call_and_validate(base_url=live.url, headers=headers, checks=CHECKS, timeout=90)

    ask()


def _enter(case: Any, tenant: str) -> None:
    """Say the key's own tenant, in a namespace of this test: a request for another tenant ends at the door."""
    names = {"tenantId": tenant, "namespaceId": "contract"}
    if isinstance(case.body, dict):
        if isinstance(case.body.get("scope"), dict):
            case.body["scope"].update(names)
        if "tenantId" in case.body:
            case.body["tenantId"] = tenant
        if case.body.get("consistency") in {"indexed", "strong"}:
            del case.body["consistency"]  # what waits is tested elsewhere
    for name in names.keys() & (case.query or {}).keys():
        case.query[name] = names[name]
