from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from infinicon.api import errors
from infinicon.errors import (
    ConsistencyUnavailable,
    IdempotencyConflict,
    IndexTimeout,
    InfiniconError,
    InvalidCursor,
    InvalidRequest,
    MissingDependency,
    NotFound,
    Overloaded,
    ScopeMismatch,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = FastAPI(redirect_slashes=False)

    @app.get("/number/{number}")
    def number(number: int) -> int:
        raise RuntimeError(f"CANARY-77 {number}")

    errors.install(app)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (InvalidRequest("m"), 400),
        (InvalidCursor("m"), 400),
        (ScopeMismatch("m"), 400),
        (Unauthorized("m"), 401),
        (Unauthorized("m", authenticated=True), 403),
        (NotFound("m"), 404),
        (TooLarge("m"), 413),
        (UnsupportedMediaType("m"), 415),
        (IdempotencyConflict("m"), 422),
        (Overloaded("m"), 429),
        (MissingDependency("m"), 500),
        (Unavailable("m"), 503),
        (IndexTimeout("m"), 504),
        (ConsistencyUnavailable("m"), 504),
    ],
)
def test_status_and_body(fault: InfiniconError, status: int) -> None:
    reply = errors.response(fault)

    assert reply.status_code == status
    assert json.loads(bytes(reply.body)) == {"code": fault.code, "message": "m", "retryable": fault.retryable}
    assert reply.headers["cache-control"] == "no-store"


def test_only_a_missing_key_is_challenged() -> None:
    assert errors.response(Unauthorized("m")).headers["www-authenticate"].startswith("Bearer")
    assert "www-authenticate" not in errors.response(Unauthorized("m", authenticated=True)).headers


def test_overload_says_when_to_come_back() -> None:
    assert int(errors.response(Overloaded("m")).headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/number/1/", 404, "not_found"),
        ("POST", "/number/1", 405, "method_not_allowed"),
        ("GET", "/number/CANARY-77", 400, "invalid_request"),
        ("GET", "/number/1", 500, "internal"),
    ],
)
def test_the_framework_answers_in_our_shape(client: TestClient, method: str, path: str, status: int, code: str) -> None:
    reply = client.request(method, path)

    assert reply.status_code == status
    assert reply.json()["code"] == code
    assert reply.json().keys() >= {"code", "message", "retryable"}
    assert "CANARY" not in reply.text


def test_a_wrong_method_is_told_the_right_one(client: TestClient) -> None:
    assert client.post("/number/1").headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("mounted", "path", "named"), [(True, "/v1/x", True), (True, "/v0/x", False), (False, "/v1/x", False)]
)
def test_errors_of_the_conformance_seam_name_their_code_twice(mounted: bool, path: str, named: bool) -> None:
    app = FastAPI()
    errors.install(app, conformance=mounted)
    with TestClient(app) as client:
        body = client.get(path).json()

    assert body.pop("error", None) == ("not_found" if named else None)
    assert body.keys() == {"code", "message", "retryable"}
