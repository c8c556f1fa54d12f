from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no types of its own
from openapi_spec_validator import validate

from infinicon import domain
from infinicon.api import limits, openapi
from infinicon.api.app import ROUTES
from infinicon.api.wire import context as context_wire
from infinicon.api.wire import events as events_wire
from infinicon.api.wire import hydrate as hydrate_wire
from infinicon.api.wire import ingest as ingest_wire
from infinicon.api.wire import jobs as jobs_wire
from infinicon.api.wire import query as query_wire
from infinicon.errors import IndexTimeout
from infinicon.operations.ingest import INTERACTIVE_EPISODES
from infinicon.settings import Settings
from tests.unit.api.samples import CONTEXT, EVENT_PAGE, HYDRATE_REPLY, INGEST_REPLY, JOB, JOBS_PAGE, QUERY_REPLY

ASSEMBLE = context_wire.Assemble(
    domain.AssembleRequest(CONTEXT.scope, CONTEXT.task, CONTEXT.budget), strong=False, text=True, unreadable=[]
)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    app = FastAPI(title="Infinicon", version="0", description=openapi.DESCRIPTION)
    for module in ROUTES:
        app.include_router(module.router)
    openapi.install(app, Settings(max_body_bytes=5000))
    return json.loads(json.dumps(app.openapi()))  # type: ignore[no-any-return]  # it is an object


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    validate(document)


def test_every_route_says_how_it_fails(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            if method == "head":
                assert not any("content" in answer for answer in answers.values())
                continue
            failures = [answer for status, answer in answers.items() if status[0] in "45d"]
            assert all("MemoryApiError" in json.dumps(failure) for failure in failures)
            if path.startswith("/v0/"):
                assert operation["security"] == [{"apiKey": []}]
                assert {"400", "401", "403", "429", "500", "503", "default"} <= answers.keys()


def test_every_route_says_which_permission_it_needs(document: dict[str, Any]) -> None:
    """That it is the one that is asked for is tested at the front door (tests/e2e/api/test_permissions.py)."""
    needed = {
        operation["operationId"]: operation.get("x-permission")
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if path.startswith("/v0/")
    }

    assert {name for name, permission in needed.items() if permission is None} == {"ownKey", "listNamespaces"}
    assert set(needed.values()) - {None} <= set(domain.Permission)


def test_the_limits_are_stated(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    assert document["x-limits"]["bodyBytes"] == 5000
    assert document["x-limits"]["queryDepth"] == domain.QUERY_DEPTH
    assert schemas["IngestRequest"]["properties"]["episodes"]["maxItems"] == limits.EPISODES
    assert schemas["HydrateRequest"]["properties"]["refs"]["maxItems"] == limits.REFS
    assert schemas["QueryRequest"]["properties"]["query"]["maxLength"] == limits.QUERY_CHARACTERS
    assert schemas["QueryRequest"]["properties"]["limit"]["anyOf"][0]["maximum"] == limits.QUERY_LIMIT
    assert schemas["Scope"]["properties"]["tenantId"]["maxLength"] == limits.IDENTIFIER_CHARACTERS
    assert str(limits.JSON_DEPTH) in openapi.DESCRIPTION


@pytest.mark.parametrize(
    ("schema", "member", "said"),
    [
        (
            "IngestEpisode",
            "contentType",
            ["`text/*`", "`application/json`", "`application/*+json`", "details.supported"],
        ),
        ("IngestEpisode", "metadata", ["`speaker`", "`role`", "indexed"]),
        ("IngestEpisode", "createdBy", ["not searched"]),
        ("IngestRequest", "lane", [str(INTERACTIVE_EPISODES), "bulk"]),
        ("IngestRequest", "label", ["jobs"]),
        ("Memory", "provenance", ["always"]),
    ],
)
def test_members_say_what_they_mean(document: dict[str, Any], schema: str, member: str, said: list[str]) -> None:
    description = document["components"]["schemas"][schema]["properties"][member]["description"]

    assert [part for part in said if part not in description] == []


def test_the_examples_are_what_the_parsers_take(document: dict[str, Any]) -> None:
    parsers = {
        "/v0/ingest": lambda body: ingest_wire.parse(body, None),
        "/v0/query": query_wire.parse,
        "/v0/hydrate": hydrate_wire.parse,
        "/v0/assemble-context": context_wire.parse,
        "/v0/get-job": jobs_wire.parse,
        "/v0/subscribe": events_wire.parse,
        "/v0/jobs/{jobId}/cancel": jobs_wire.parse_change,
        "/v0/jobs/{jobId}/retry": jobs_wire.parse_change,
        "/v0/reindex": jobs_wire.parse_change,
    }
    for path, parse in parsers.items():
        media = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        parse(json.dumps(media["example"]).encode())
        assert validator(document, media["schema"]).is_valid(media["example"])


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": document["components"]})


@pytest.mark.parametrize(
    ("path", "method", "wire"),
    [
        ("/v0/ingest", "post", ingest_wire.to_wire(INGEST_REPLY)),
        ("/v0/query", "post", query_wire.to_wire(QUERY_REPLY)),
        (
            "/v0/hydrate",
            "post",
            hydrate_wire.to_wire(hydrate_wire.Hydrate(domain.HydrateRequest(JOB[0], []), []), HYDRATE_REPLY),
        ),
        ("/v0/assemble-context", "post", context_wire.to_wire(ASSEMBLE, CONTEXT)),
        ("/v0/get-job", "post", jobs_wire.to_wire(JOB[1])),
        ("/v0/jobs/{jobId}", "get", jobs_wire.to_wire(JOB[1])),
        ("/v0/jobs", "get", jobs_wire.page_to_wire(JOBS_PAGE)),
        ("/v0/jobs/{jobId}/cancel", "post", jobs_wire.to_wire(JOB[1])),
        ("/v0/jobs/{jobId}/retry", "post", jobs_wire.to_wire(JOB[1])),
        ("/v0/reindex", "post", jobs_wire.reindex_to_wire(JOB[1])),
        ("/v0/subscribe", "post", events_wire.to_wire(EVENT_PAGE)),
        ("/v0/events", "get", events_wire.to_wire(EVENT_PAGE)),
    ],
)
def test_answers_are_what_the_document_promises(document: dict[str, Any], path: str, method: str, wire: Any) -> None:
    schema = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]

    validator(document, schema).validate(wire)
    assert wire.keys() <= document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"].keys()


def test_errors_are_what_the_document_promises(document: dict[str, Any]) -> None:
    schema = document["paths"]["/v0/ingest"]["post"]["responses"]["504"]["content"]["application/json"]["schema"]
    fault = IndexTimeout("late", details=ingest_wire.to_wire(INGEST_REPLY))

    validator(document, schema).validate(fault.to_wire())
    assert not validator(document, schema).is_valid({"code": "late"})
