from __future__ import annotations

import json

import pytest

from infinicon.api.wire import jobs as wire
from infinicon.domain import Scope
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import JOB

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


@pytest.mark.parametrize("job_id", ["", "job_does_not_exist_77", "x" * 256])
def test_any_short_text_may_be_asked_for(job_id: str) -> None:
    assert wire.parse(json.dumps({"scope": SCOPE, "jobId": job_id}).encode()) == (Scope("acme", "notes"), job_id)


@pytest.mark.parametrize("job_id", [None, 5, "x" * 10_000, "\x00", "\ud800"])
def test_what_is_no_text_is_refused(job_id: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse(json.dumps({"scope": SCOPE, "jobId": job_id}).encode())

    assert caught.value.details["field"] == "jobId"


def test_query_parameters_give_the_same_scope() -> None:
    parameters = {**SCOPE, "agentId": "a", "sessionId": "s", "colour": "x"}

    assert wire.parse_parameters(parameters) == Scope("acme", "notes", "a", "s")


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "tenantId"),
        ({"tenantId": "acme"}, "namespaceId"),
        ({**SCOPE, "agentId": ""}, "agentId"),
        ({**SCOPE, "namespaceId": "a\x00"}, "namespaceId"),
        ({**SCOPE, "filters": "{}"}, "filters"),
    ],
)
def test_query_parameters_are_checked(parameters: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_parameters(parameters)

    assert caught.value.details["field"] == field


def test_a_job_is_told_in_full() -> None:
    assert wire.to_wire(JOB[1]) == {
        "jobId": "00000000-0000-0000-0000-000000000009",
        "type": "ingest",
        "status": "failed",
        "createdAt": "2026-11-30T10:00:00.120000Z",
        "updatedAt": "2026-11-30T10:00:00.120000Z",
        "stage": "embed",
        "progress": {"done": 1, "failed": 1, "total": 3, "waiting": 0, "extract": 0, "embed": 1, "index": 0},
        "label": "back-fill",
        "result": {"episodes": 3},
        "error": {
            "code": "too_large",
            "message": "content must not be larger than 1048576 bytes",
            "retryable": False,
            "details": {"field": "content"},
        },
    }
