from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from infinicon.api.wire import hydrate as wire
from infinicon.api.wire.shared import ref_to_wire
from infinicon.domain import HydrateReply, MemoryRef, MemoryType
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import (
    ATOM,
    ATOM_OBJECT,
    CHAINED_OBJECT,
    EPISODE,
    EPISODE_OBJECT,
    GONE_OBJECT,
    LINK,
    LINK_OBJECT,
)

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}
KNOWN = ref_to_wire(EPISODE)
BARE = replace(EPISODE.scope, filters=None)
"""Refs travel without filters."""


def parse(refs: Any, **fields: object) -> wire.Hydrate:
    return wire.parse(json.dumps({"scope": SCOPE, "refs": refs, **fields}).encode())


def test_refs_arrive_in_order_with_their_own_scopes() -> None:
    asked = parse([ref_to_wire(ATOM), KNOWN], includeProvenance=True)

    assert asked.request.refs == [replace(ATOM, scope=BARE), replace(EPISODE, scope=BARE)]
    assert asked.request.include_provenance


@pytest.mark.parametrize(
    "malformed",
    ["x", "", "nope", "019a5b5e7a3c7cc29d8e2f1f0a1b2c3d", "{019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d}", "019a5b5e", "../x"],
)
def test_an_id_that_cannot_exist_is_missing_as_it_was_sent(malformed: str) -> None:
    asked = parse([{**KNOWN, "id": malformed}, KNOWN])

    assert asked.request.refs == [replace(EPISODE, scope=BARE)]
    assert wire.to_wire(asked, HydrateReply([EPISODE_OBJECT], []))["missing"] == [{**KNOWN, "id": malformed}]


@pytest.mark.parametrize(
    ("refs", "field"),
    [
        ([], "refs"),
        ([KNOWN] * 1001, "refs"),
        ("x", "refs"),
        ([5], "refs.0"),
        ([KNOWN, {"type": "atom", "scope": SCOPE}], "refs.1.id"),
        ([{"id": "x", "scope": SCOPE}], "refs.0.type"),
        ([{"id": "x", "type": "memory", "scope": SCOPE}], "refs.0.type"),
        ([{"id": "x", "type": "atom"}], "refs.0.scope"),
        ([{"id": 5, "type": "atom", "scope": SCOPE}], "refs.0.id"),
        ([{"id": "a\x00", "type": "atom", "scope": SCOPE}], "refs.0.id"),
        ([{"id": "x" * 257, "type": "atom", "scope": SCOPE}], "refs.0.id"),
    ],
)
def test_what_is_no_ref_refuses_the_request(refs: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(refs)

    assert caught.value.details["field"] == field


def test_every_ref_is_in_objects_or_in_missing() -> None:
    elsewhere = MemoryRef(EPISODE.id, EPISODE.type, replace(EPISODE.scope, tenant_id="other"))
    asked = parse([KNOWN, ref_to_wire(elsewhere), ref_to_wire(ATOM), KNOWN, ref_to_wire(ATOM)])
    reply = wire.to_wire(asked, HydrateReply([EPISODE_OBJECT], [elsewhere, ATOM]))

    assert [found["id"] for found in reply["objects"]] == [KNOWN["id"]]
    assert reply["missing"] == [ref_to_wire(elsewhere), ref_to_wire(ATOM)]


def test_unknown_fields_of_a_ref_are_not_repeated() -> None:
    asked = parse([{**KNOWN, "colour": "\ud800"}])

    assert wire.to_wire(asked, HydrateReply([], [EPISODE]))["missing"] == [KNOWN]


def test_an_episode_keeps_null_content() -> None:
    (episode,) = wire.to_wire(parse([KNOWN]), HydrateReply([EPISODE_OBJECT], []))["objects"]

    assert episode["content"] is None
    assert episode["metadata"] == {"mood": None}
    assert episode["createdAt"] == "2026-11-30T10:00:00.120000Z"
    assert episode["createdBy"] == {"id": "ann", "kind": "user"}
    assert episode["dedupeKey"] == "note-1"
    assert "provenance" not in episode


def test_an_atom_names_the_span_of_its_source() -> None:
    (atom,) = wire.to_wire(parse([KNOWN]), HydrateReply([ATOM_OBJECT], []))["objects"]

    assert atom["provenance"]["sourceRefs"] == [
        {**KNOWN, "status": "active", "span": {"start": 0, "end": 33, "path": ""}}
    ]
    assert not {"chain", "truncated"} & atom["provenance"].keys()
    assert atom["provenance"]["producedBy"] == {"id": "builtin", "kind": "plugin"}
    assert "contentType" not in atom


def test_a_chain_names_links_and_the_states_of_sources() -> None:
    (atom,) = wire.to_wire(parse([KNOWN]), HydrateReply([CHAINED_OBJECT], []))["objects"]
    found = atom["provenance"]

    assert found["sourceRefs"] == [{**KNOWN, "status": "tombstoned"}]
    assert found["truncated"] is True
    (step,) = found["chain"]
    assert (step["link"], step["derived"]) == (ref_to_wire(LINK), ref_to_wire(ATOM))
    assert step["source"] == {**KNOWN, "status": "tombstoned", "span": {"start": 0, "end": 33, "path": ""}}


def test_a_link_has_ends_and_no_content() -> None:
    (link,) = wire.to_wire(parse([ref_to_wire(LINK)]), HydrateReply([LINK_OBJECT], []))["objects"]

    assert (link["type"], link["linkType"], link["status"]) == ("link", "derived_from", "active")
    assert (link["from"], link["to"], link["metadata"]) == (ref_to_wire(ATOM), KNOWN, {})
    assert not {"content", "provenance", "tombstone"} & link.keys()


def test_what_is_left_of_a_deleted_memory() -> None:
    (gone,) = wire.to_wire(parse([ref_to_wire(ATOM)]), HydrateReply([GONE_OBJECT], []))["objects"]

    assert (gone["status"], gone["content"]) == ("tombstoned", None)
    assert gone["tombstone"] == {
        "createdAt": "2026-11-30T10:00:00.120000Z",
        "reason": "asked for",
        "cascadePolicy": "none",
        "keyId": str(UUID(int=7)),
        "keptUntil": "2026-11-30T10:00:00.120000Z",
    }


def test_deleted_memories_are_asked_for_by_name() -> None:
    assert not parse([KNOWN]).request.include_tombstoned
    assert parse([KNOWN], includeTombstoned=True).request.include_tombstoned
    for other in (1, "true"):
        with pytest.raises(InvalidRequest):
            parse([KNOWN], includeTombstoned=other)


def test_a_consolidation_names_its_sources_and_whose_place_it_took() -> None:
    made = replace(CHAINED_OBJECT, type=MemoryType.CONSOLIDATION, supersedes=[ATOM], stale=True)
    (shown,) = wire.to_wire(parse([KNOWN]), HydrateReply([made], []))["objects"]

    assert shown["sourceRefs"] == shown["provenance"]["sourceRefs"]
    assert shown["supersedes"] == [ref_to_wire(ATOM)]
    assert shown["stale"] is True
    (plain,) = wire.to_wire(parse([KNOWN]), HydrateReply([replace(made, supersedes=[], stale=False)], []))["objects"]
    assert not {"supersedes", "stale"} & plain.keys()
