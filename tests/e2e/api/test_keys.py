"""Keys through the front door: what a new one may do, what it may not, and that it is shown once."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import NIL, note, refusal, send


def made(http: httpx.Client, live: Instance, **wanted: object) -> tuple[Wire, dict[str, str]]:
    reply = send(http, "/v0/keys", {"tenantId": live.tenant_id, **wanted})
    assert reply.status_code == 200
    answer = reply.json()
    return answer["key"], {"Authorization": f"Bearer {answer['apiKey']}", "Content-Type": "application/json"}


def test_a_key_of_one_namespace(http: httpx.Client, live: Instance, client: Client) -> None:
    own = client.scope["namespaceId"]
    key, headers = made(http, live, permissions=["ingest", "jobs"], namespaces=[own], label="bot")
    episodes = [note("The bot was here.")]

    assert send(http, "/v0/ingest", {"scope": client.scope, "episodes": episodes}, headers).status_code == 200
    other = {**client.scope, "namespaceId": f"other-{uuid4()}"}
    refusal(send(http, "/v0/ingest", {"scope": other, "episodes": episodes}, headers), 403, "unauthorized")
    refusal(send(http, "/v0/query", {"scope": client.scope, "query": "bot"}, headers), 403, "unauthorized")
    refusal(http.get("/v0/keys", params={"tenantId": live.tenant_id}, headers=headers), 403, "unauthorized")
    assert http.get("/v0/key", headers=headers).json() == {"tenantId": live.tenant_id, **key}
    listed = http.get("/v0/namespaces", params={"tenantId": live.tenant_id}, headers=headers).json()
    assert [item["namespaceId"] for item in listed["namespaces"]] == [own]
    assert key in http.get("/v0/keys", params={"tenantId": live.tenant_id}).json()["keys"]
    assert headers["Authorization"].split()[1] not in http.get("/v0/keys", params={"tenantId": live.tenant_id}).text


def test_rotation_and_revocation(http: httpx.Client, live: Instance) -> None:
    key, old = made(http, live, permissions=["query"])
    reply = send(http, f"/v0/keys/{key['keyId']}/rotate", {"tenantId": live.tenant_id, "overlapSeconds": 600}).json()
    new = {"Authorization": f"Bearer {reply['apiKey']}"}

    assert [http.get("/v0/key", headers=headers).status_code for headers in (old, new)] == [200, 200]
    revoked = send(http, f"/v0/keys/{key['keyId']}/revoke", {"tenantId": live.tenant_id}).json()["key"]
    assert revoked["revokedAt"]
    refusal(http.get("/v0/key", headers=old), 401, "unauthorized")
    assert http.get("/v0/key", headers=new).json()["keyId"] == reply["key"]["keyId"] != key["keyId"]


@pytest.mark.parametrize("key_id", [NIL, "zzz", "%00", "x" * 300])
@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_no_such_key(http: httpx.Client, live: Instance, verb: str, key_id: str) -> None:
    refusal(send(http, f"/v0/keys/{key_id}/{verb}", {"tenantId": live.tenant_id}), 404, "not_found")


def test_another_tenants_keys_are_nobodys_business(http: httpx.Client) -> None:
    refusal(http.get("/v0/keys", params={"tenantId": "somebody else"}), 403, "unauthorized")
    refusal(http.get("/v0/keys"), 400, "invalid_request")
    refusal(send(http, "/v0/keys", {"tenantId": "somebody else"}), 403, "unauthorized")
    refusal(send(http, "/v0/keys", {}), 400, "invalid_request")
