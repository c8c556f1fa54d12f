from __future__ import annotations

import pytest

from infinicon.cli.faults import ApiRefused


@pytest.mark.parametrize(
    ("status", "code", "retryable", "exit_code"),
    [
        (400, "invalid_request", False, 2),
        (401, "unauthorized", False, 4),
        (403, "unauthorized", False, 4),
        (404, "not_found", False, 5),
        (404, "(not a MemoryApiError)", False, 1),
        (413, "too_large", False, 1),
        (429, "overloaded", True, 6),
        (500, "internal", True, 6),
        (502, "(not a MemoryApiError)", False, 6),
        (503, "unavailable", True, 6),
        (504, "index_timeout", True, 6),
    ],
)
def test_exit_codes_say_what_kind_of_failure_it_is(status: int, code: str, retryable: bool, exit_code: int) -> None:
    assert ApiRefused("/v0/query", status, code, "no", retryable=retryable).exit_code == exit_code


@pytest.mark.parametrize(
    ("path", "shown"), [("/v0/redact", "secrets list"), ("/v0/secrets/x", "secrets list"), ("/v0/keys/x", "keys list")]
)
def test_what_belongs_to_no_namespace_is_not_said_to_be_in_another(path: str, shown: str) -> None:
    remedy = ApiRefused(path, 404, "not_found").remedy

    assert shown in remedy
    assert "--namespace" not in remedy
    assert "--namespace" in ApiRefused("/v0/get-job", 404, "not_found").remedy


def test_a_refusal_says_what_to_do() -> None:
    assert "INFINICON_API_KEY" in ApiRefused("/v0/query", 401, "unauthorized", "no").remedy
    assert "address" in ApiRefused("/v0/query", 404, "(not a MemoryApiError)").remedy
