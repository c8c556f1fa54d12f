from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from infinicon import domain
from infinicon.api.wire import ingest as wire
from infinicon.domain import Fault, IngestEpisode
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import INGEST_REPLY

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}
NOTE = {"contentType": "text/plain", "content": "The gate code is on the blue tag."}


def parse(episodes: list[Any], **fields: object) -> domain.IngestRequest:
    body = json.dumps({"scope": SCOPE, "episodes": episodes, **fields}).encode()
    return wire.parse(body, None).request


def fault_of(**fields: object) -> Fault:
    """The fault of one episode, which must leave its neighbours alone."""
    before, faulty, after = parse([NOTE, {**NOTE, **fields}, NOTE]).episodes
    assert isinstance(before, IngestEpisode)
    assert isinstance(after, IngestEpisode)
    assert isinstance(faulty, Fault)
    return faulty


def test_every_field_arrives() -> None:
    sent = {
        **NOTE,
        "createdBy": {"id": "ann", "kind": "user"},
        "dedupeKey": "note-1",
        "metadata": {"mood": None},
        "tags": ["blue"],
        "occurredAt": "2026-11-30T10:00:00+09:00",
        "expiresAt": "2027-01-01T00:00:00Z",
        "corrects": [
            {"id": str(UUID(int=7)), "type": "atom", "scope": SCOPE},
            {"id": "zzz", "type": "atom", "scope": SCOPE},
        ],
        "supersedes": [{"id": str(UUID(int=8)), "type": "episode", "scope": SCOPE}],
        "anything": {"else": 1},
    }
    request = parse([sent], label="back-fill", lane="bulk", colour="unknown")

    assert request.label == "back-fill"
    assert request.lane is domain.Lane.BULK
    assert request.episodes == [
        IngestEpisode(
            content_type="text/plain",
            content="The gate code is on the blue tag.",
            created_by=domain.ActorRef("ann", "user"),
            dedupe_key="note-1",
            metadata={"mood": None},
            tags=["blue"],
            occurred_at=datetime(2026, 11, 30, 1, tzinfo=UTC),
            expires_at=datetime(2027, 1, 1, tzinfo=UTC),
            corrects=[domain.MemoryRef(UUID(int=7), domain.MemoryType.ATOM, request.scope), None],
            supersedes=[domain.MemoryRef(UUID(int=8), domain.MemoryType.EPISODE, request.scope)],
        )
    ]


@pytest.mark.parametrize(
    "content", [None, 0, 2**70, [], {"a": [1, "x"]}, "", "👨‍👩‍👧 e\u0301 \\u0000", "x" * 1024 * 1024]
)
def test_content_arrives_unchanged(content: object) -> None:
    (episode,) = parse([{"contentType": "application/json", "content": content}]).episodes

    assert isinstance(episode, IngestEpisode)
    assert episode.content == content


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "a\x00b"),
        ("content", "tail \ud83d end"),
        ("content", {"a": ["\x00"]}),
        ("dedupeKey", "\x00"),
        ("metadata", {"\ud800": 1}),
        ("tags", ["\ud800"]),
        ("createdBy", {"id": "\x00", "kind": "user"}),
    ],
)
def test_nul_and_lone_surrogates_reject_one_episode(field: str, value: object) -> None:
    assert fault_of(**{field: value}).code == "invalid_content"


@pytest.mark.parametrize("content", ["x" * (1024 * 1024 + 1), "é" * 600_000, ["x" * 1024 * 1024]])
def test_large_content_rejects_one_episode(content: object) -> None:
    fault = fault_of(contentType="application/json", content=content)

    assert fault.code == "too_large"
    assert fault.details == {"field": "content", "limit": 1024 * 1024}


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("contentType", None, "contentType"),
        ("contentType", "", "contentType"),
        ("contentType", "text", "contentType"),
        ("contentType", "text/plain; charset", "contentType"),
        ("contentType", "text/" + "x" * 300, "contentType"),
        ("createdBy", "ann", "createdBy"),
        ("createdBy", {"id": "ann", "kind": "robot"}, "createdBy.kind"),
        ("createdBy", {"kind": "user"}, "createdBy.id"),
        ("dedupeKey", "", "dedupeKey"),
        ("dedupeKey", "a" * 12_000, "dedupeKey"),
        ("dedupeKey", 5, "dedupeKey"),
        ("metadata", [], "metadata"),
        ("metadata", {"a": "x" * 16_384}, "metadata"),
        ("tags", "blue", "tags"),
        ("tags", ["blue", ""], "tags.1"),
        ("tags", ["x"] * 65, "tags"),
        ("tags", ["x" * 257], "tags.0"),
        ("occurredAt", "2026-11-30T10:00:00", "occurredAt"),
        ("occurredAt", 5, "occurredAt"),
        ("expiresAt", "9999-12-31T23:59:59-01:00", "expiresAt"),
    ],
)
def test_a_malformed_field_rejects_one_episode(field: str, value: object, named: str) -> None:
    fault = fault_of(**{field: value})

    assert fault.code == "invalid_request"
    assert fault.details["field"] == named
    assert not fault.retryable


@pytest.mark.parametrize("missing", ["contentType", "content"])
def test_a_missing_field_rejects_one_episode(missing: str) -> None:
    note = {name: value for name, value in NOTE.items() if name != missing}
    (fault,) = parse([note]).episodes

    assert isinstance(fault, Fault)
    assert fault.details == {"field": missing, "rule": "is required"}


@pytest.mark.parametrize("episode", [None, 5, "x", [], True])
def test_what_is_no_object_rejects_one_episode(episode: object) -> None:
    (fault,) = parse([episode]).episodes

    assert isinstance(fault, Fault)
    assert fault.details == {"field": "episode", "rule": "must be an object"}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "TEXT/PLAIN;charset=utf-8", 'a/b; c="d e" ; f=g', "application/ld+json"]
)
def test_media_types_that_are_taken(content_type: str) -> None:
    assert isinstance(parse([{**NOTE, "contentType": content_type}]).episodes[0], IngestEpisode)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"episodes": []}, "episodes"),
        ({"episodes": [NOTE] * 1001}, "episodes"),
        ({"episodes": NOTE}, "episodes"),
        ({"consistency": "strong"}, "consistency"),
        ({"lane": "fast"}, "lane"),
        ({"label": ""}, "label"),
        ({"label": "x" * 257}, "label"),
        ({"label": "a\x00"}, "label"),
        ({"scope": {**SCOPE, "tenantId": "\x00"}}, "scope.tenantId"),
    ],
)
def test_a_fault_beside_the_episodes_refuses_the_request(fields: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse(json.dumps({"scope": SCOPE, "episodes": [NOTE], **fields}).encode(), None)

    assert caught.value.details["field"] == named


def test_a_thousand_episodes_are_taken() -> None:
    assert len(parse([NOTE] * 1000).episodes) == 1000


def test_the_raw_body_is_digested() -> None:
    body = json.dumps({"scope": SCOPE, "episodes": [NOTE], "consistency": "indexed"}).encode()
    asked = wire.parse(body, "key-1")

    assert asked.indexed
    assert asked.request.idempotency_key == "key-1"
    assert asked.request.body_digest == hashlib.sha256(body).digest()


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "a\n"])
def test_an_idempotency_key_is_visible_ascii(key: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse(b"{}", key)

    assert caught.value.details["field"] == "Idempotency-Key"


def test_a_reply_has_one_result_for_each_episode() -> None:
    reply = wire.to_wire(INGEST_REPLY)

    assert reply["jobId"] == str(INGEST_REPLY.job_id)
    assert [result["status"] for result in reply["results"]] == ["created", "deduplicated", "rejected"]
    assert [sorted(result) for result in reply["results"]] == [
        ["ref", "status"],
        ["ref", "status", "warnings"],
        ["error", "ref", "status"],
    ]
    assert reply["results"][2]["ref"]["id"] == "00000000-0000-0000-0000-000000000000"
    assert reply["results"][2]["error"]["code"] == "too_large"
