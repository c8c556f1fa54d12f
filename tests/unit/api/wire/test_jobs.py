from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infinicon.api import limits
from infinicon.api.wire import jobs as wire
from infinicon.domain import JobFilter, JobsRequest, JobStatus, Scope
from infinicon.errors import InvalidRequest
from infinicon.store import jobs
from tests.unit.api.samples import JOB, JOBS_PAGE

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


@pytest.mark.parametrize("job_id", ["", "job_does_not_exist_77", "x" * 256])
def test_any_short_text_may_be_asked_for(job_id: str) -> None:
    assert wire.parse(json.dumps({"scope": SCOPE, "jobId": job_id}).encode()) == (Scope("acme", "notes"), job_id)


@pytest.mark.parametrize("job_id", [None, 5, "x" * 10_000, "\x00", "\ud800"])
def test_what_is_no_text_is_refused(job_id: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse(json.dumps({"scope": SCOPE, "jobId": job_id}).encode())

    assert caught.value.details["field"] == "jobId"


def test_a_change_needs_a_scope_and_no_more() -> None:
    assert wire.parse_change(json.dumps({"scope": SCOPE}).encode()) == Scope("acme", "notes")
    for body in ({}, {"scope": None}, {"scope": {"tenantId": "acme"}}):
        with pytest.raises(InvalidRequest):
            wire.parse_change(json.dumps(body).encode())


def test_a_list_without_a_filter_takes_every_job_of_the_scope() -> None:
    sent = {**SCOPE, "agentId": "a", "sessionId": "s", "colour": "x"}

    assert wire.parse_list(sent) == JobsRequest(Scope("acme", "notes", "a", "s"))


def test_the_filter_of_a_list() -> None:
    sent = {**SCOPE, "status": "failed", "label": "back-fill", "type": "ingest", "limit": "200", "cursor": "c"}

    wanted = JobFilter(JobStatus.FAILED, "back-fill", "ingest")
    assert wire.parse_list(sent) == JobsRequest(Scope("acme", "notes"), wanted, limits.JOBS, "c")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"tenantId": ""}, "tenantId"),
        ({"namespaceId": "a\x00"}, "namespaceId"),
        ({"agentId": ""}, "agentId"),
        ({"filters": "{}"}, "filters"),
        ({"status": "done"}, "status"),
        ({"status": "FAILED"}, "status"),
        ({"status": ""}, "status"),
        ({"label": ""}, "label"),
        ({"label": "x" * 257}, "label"),
        ({"label": "a\x00b"}, "label"),
        ({"type": ""}, "type"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "1e1"}, "limit"),
        ({"limit": "٣"}, "limit"),
    ],
)
def test_a_list_is_checked(more: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_list({**SCOPE, **more})

    assert caught.value.details["field"] == field
    assert not [value for value in more.values() if len(value) > 3 and value in caught.value.message]


@pytest.mark.parametrize("missing", SCOPE)
def test_a_list_needs_a_scope(missing: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_list({name: value for name, value in SCOPE.items() if name != missing})

    assert caught.value.details["field"] == missing


def test_a_page_has_its_jobs_its_sum_and_a_cursor_where_there_are_more() -> None:
    shown = wire.page_to_wire(JOBS_PAGE)

    assert shown == {
        "jobs": [wire.to_wire(JOB[1])],
        "cursor": "c",
        "summary": {
            "jobs": {"queued": 1, "running": 2, "completed": 3, "failed": 4, "cancelled": 5},
            "progress": {"done": 9, "failed": 1, "total": 20, "waiting": 4, "extract": 1, "embed": 2, "index": 3},
        },
    }
    assert "cursor" not in wire.page_to_wire(replace(JOBS_PAGE, cursor=None))


def test_every_type_of_job_is_documented() -> None:
    said = wire.Job.model_fields["type"].description or ""

    for kind in ("ingest", jobs.REINDEX, jobs.CONSOLIDATE, jobs.TOMBSTONE, jobs.ERASE, jobs.REDACT):
        assert f"`{kind}`" in said


def test_a_reindex_is_a_job() -> None:
    assert wire.reindex_to_wire(JOB[1]) == {"jobId": "00000000-0000-0000-0000-000000000009", "status": "failed"}


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
