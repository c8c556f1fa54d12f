"""Every operation asks for the permission that the OpenAPI document names, and for no other."""

from __future__ import annotations

import json
from typing import Any

import httpx

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import JSON, NIL, send

EXAMPLE_TENANT, EXAMPLE_NAMESPACE = '"acme"', '"support"'


def test_permissions_are_what_the_document_says(http: httpx.Client, live: Instance, client: Client) -> None:
    document = http.get("/openapi.json").json()
    client.ingest([{"contentType": "text/plain", "content": "There is a namespace."}])
    everything = http.get("/v0/key").json()["permissions"]
    wrong = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            needed = operation.get("x-permission")
            if needed is None:
                continue
            # Who is admin may do everything, so a key without the permission lacks that one, too.
            keys = {
                True: key_with(http, live, [needed]),
                False: key_with(http, live, [one for one in everything if one not in (needed, "admin")]),
            }
            for holds, key in keys.items():
                status = ask(http, live, client.scope, key, path, method, operation)
                if (status not in (401, 403)) is not holds:
                    wrong.append(f"{method} {path} with{'' if holds else 'out'} {needed}: {status}")

    assert wrong == []


def key_with(http: httpx.Client, live: Instance, permissions: list[str]) -> str:
    reply = send(http, "/v0/keys", {"tenantId": live.tenant_id, "permissions": permissions}).json()
    return str(reply["apiKey"])


def ask(
    http: httpx.Client, live: Instance, scope: Wire, key: str, path: str, method: str, operation: dict[str, Any]
) -> int:
    """The status of a request as the document describes one, in a scope that exists, for something that does not."""
    values = {**scope, "keyId": NIL, "jobId": NIL, "secretId": NIL, "id": NIL, "memoryRef": scope["namespaceId"]}
    needed = [one for one in operation.get("parameters", ()) if one["required"]]
    path = path.format_map({one["name"]: values[one["name"]] for one in needed if one["in"] == "path"})
    query = {one["name"]: values[one["name"]] for one in needed if one["in"] == "query"}
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json", **JSON}
    body = None
    if "requestBody" in operation:
        example = json.dumps(operation["requestBody"]["content"]["application/json"]["example"])
        own = example.replace(EXAMPLE_TENANT, json.dumps(live.tenant_id))
        body = own.replace(EXAMPLE_NAMESPACE, json.dumps(scope["namespaceId"])).encode()
    return http.request(method, path, params=query, content=body, headers=headers).status_code
