from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from infinicon.cli.client import Client
from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused, NoServer


def client_that(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    client = Client(Connection("http://server", "inf_key"))
    client.http = httpx.Client(base_url="http://server", transport=httpx.MockTransport(answer))
    return client


def test_the_tenant_is_asked_for_once() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json={"tenantId": "acme"})

    client = client_that(answer)
    assert client.scope("notes", session="s") == {"tenantId": "acme", "namespaceId": "notes", "sessionId": "s"}
    assert client.scope("notes", "a") == {"tenantId": "acme", "namespaceId": "notes", "agentId": "a"}
    assert asked == ["/v0/key"]


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("nan", None), ("-1", None)])
def test_how_long_to_wait_is_read_from_the_answer(header: str, seconds: float | None) -> None:
    error = {"code": "overloaded", "message": "later", "retryable": True, "details": {"a": 1}}
    client = client_that(lambda _: httpx.Response(429, json=error, headers={"Retry-After": header}))

    with pytest.raises(ApiRefused) as caught:
        client.get("/v0/key")
    assert (caught.value.retry_after, caught.value.retryable, caught.value.details) == (seconds, True, {"a": 1})


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"null", b'{"code": 1}', b""])
def test_an_answer_that_is_not_ours_is_a_refusal_all_the_same(body: bytes) -> None:
    client = client_that(lambda _: httpx.Response(502, content=body))

    with pytest.raises(ApiRefused) as caught:
        client.get("/v0/key")
    assert (caught.value.status, caught.value.exit_code) == (502, 6)


def test_a_page_instead_of_json_is_said_to_be_one() -> None:
    with pytest.raises(ApiRefused, match="not JSON"):
        client_that(lambda _: httpx.Response(200, text="<html>")).get("/v0/key")


@pytest.mark.parametrize("fault", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.ReadError("gone")])
def test_nobody_there(fault: Exception) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise fault

    with pytest.raises(NoServer) as caught:
        client_that(fail).post("/v0/query", {"query": "CANARY-77"})
    assert "CANARY" not in str(caught.value)
