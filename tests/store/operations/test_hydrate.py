"""hydrate: whole objects as they came in, and nothing that is not the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    ActorRef,
    HydrateReply,
    HydrateRequest,
    IngestEpisode,
    Json,
    MemoryRef,
    MemoryType,
    Permission,
    Scope,
    Span,
    Status,
)
from infinicon.errors import Unauthorized
from infinicon.operations.hydrate import hydrate
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


def shown(pipeline: Pipeline, *refs: MemoryRef, scope: Scope | None = None) -> HydrateReply:
    return hydrate(pipeline.app, pipeline.caller, HydrateRequest(scope or pipeline.scope(), refs))


def of_type(ref: MemoryRef, type_: MemoryType) -> MemoryRef:
    return replace(ref, type=type_)


def test_objects_come_in_the_order_of_the_refs_and_once(pipeline: Pipeline) -> None:
    refs = [result.ref for result in pipeline.put("One.", "Two.", "Three.").results]
    asked = [refs[2], refs[0], refs[2], refs[1], refs[0]]
    reply = shown(pipeline, *asked)

    assert [memory.content for memory in reply.objects] == ["Three.", "One.", "Two."]
    assert list(reply.missing) == []


def test_what_cannot_be_shown_is_missing_as_it_was_sent(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql
) -> None:
    here = pipeline.put("Here.", "Gone.", "Expired.").results
    elsewhere = pipeline.put("Elsewhere.", scope=pipeline.scope("elsewhere")).results[0].ref
    foreign = new_pipeline().put("Foreign.").results[0].ref
    sql("UPDATE memories SET status = 'tombstoned', content = NULL WHERE id = %s", here[1].ref.id)
    sql("UPDATE memories SET expires_at = now() WHERE id = %s", here[2].ref.id)
    missing = [
        here[1].ref,
        here[2].ref,
        elsewhere,
        replace(elsewhere, scope=pipeline.scope()),
        foreign,
        replace(foreign, scope=pipeline.scope()),
        MemoryRef(uuid4(), MemoryType.EPISODE, pipeline.scope()),
        MemoryRef(UUID(int=0), MemoryType.EPISODE, pipeline.scope()),
        of_type(here[0].ref, MemoryType.ATOM),
        of_type(here[0].ref, MemoryType.LINK),
        replace(here[0].ref, scope=pipeline.scope(agent="somebody")),
        replace(here[0].ref, scope=pipeline.scope("elsewhere")),
        replace(here[0].ref, scope=replace(pipeline.scope(), tenant_id="another tenant")),
    ]
    reply = shown(pipeline, *missing, here[0].ref)

    assert list(reply.missing) == missing
    assert [memory.content for memory in reply.objects] == ["Here."]


def test_the_scope_of_the_request_narrows(pipeline: Pipeline) -> None:
    scopes = {
        name: pipeline.scope(agent=agent, session=session)
        for name, agent, session in (("n", None, None), ("a", "a", None), ("as", "a", "s"), ("b", "b", None))
    }
    refs = {name: pipeline.put(f"Of {name}.", scope=scope).results[0].ref for name, scope in scopes.items()}

    def visible(scope: Scope) -> set[str]:
        return {str(memory.content)[3:-1] for memory in shown(pipeline, *refs.values(), scope=scope).objects}

    assert visible(pipeline.scope()) == {"n", "a", "as", "b"}
    assert visible(pipeline.scope(agent="a")) == {"a", "as"}
    assert visible(pipeline.scope(session="s")) == {"as"}
    assert visible(pipeline.scope(agent="c")) == set()
    assert visible(pipeline.scope("unknown")) == set()


def test_a_ref_may_say_less_than_there_is(pipeline: Pipeline) -> None:
    ref = pipeline.put("Of a.", scope=pipeline.scope(agent="a", session="s")).results[0].ref
    for said in (pipeline.scope(), pipeline.scope(agent="a"), pipeline.scope(session="s"), ref.scope):
        (memory,) = shown(pipeline, replace(ref, scope=said)).objects
        assert (memory.scope.agent_id, memory.scope.session_id) == ("a", "s")


VALUES: list[Json] = [
    {
        "z": 1,
        "a": {"y": [1, 2.5, -0.0, 1e300, 12345678901234567890], "b": None},
        "": True,
        "ключ": '值 👍 \u200d \\ " \n',
    },
    [],
    {},
    "only a string",
    "",
    0,
    False,
    None,
    [[[["deep"]]]],
    {"a" * 200: "x" * 5_000},
]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/vnd.example+json; charset=utf-8", "Application/JSON"]
)
def test_json_comes_back_as_it_was(pipeline: Pipeline, content_type: str) -> None:
    refs = [result.ref for result in pipeline.ingest(*[IngestEpisode(content_type, value) for value in VALUES]).results]
    pipeline.drain()

    contents = [memory.content for memory in shown(pipeline, *refs).objects]
    assert repr(contents) == repr(VALUES)  # as text: the order of keys, 0 and False, 1 and 1.0 and -0.0
    assert {memory.content_type for memory in shown(pipeline, *refs).objects} == {content_type}


TEXTS = [
    "",
    " leading and trailing \n",
    "línea\r\n\ttab",
    "👩‍👩‍👧 e\u0301 é ﬁ \u200b",
    "'; DROP TABLE memories; --",
    "%s %(a)s :name \\x00",
    '{"not": "parsed"}',
]


@pytest.mark.parametrize("content_type", ["text/plain", "TEXT/Markdown; charset=utf-8"])
def test_text_comes_back_as_it_was(pipeline: Pipeline, content_type: str) -> None:
    refs = [result.ref for result in pipeline.ingest(*[IngestEpisode(content_type, text) for text in TEXTS]).results]
    pipeline.drain()

    assert [memory.content for memory in shown(pipeline, *refs).objects] == TEXTS


def test_everything_about_an_episode(pipeline: Pipeline) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    expiry = datetime.now(UTC) + timedelta(days=1)
    metadata: dict[str, Json] = {"b": [1, None], "a": {"x": "é"}}
    scope = pipeline.scope(agent="a", session="s", filters={"p": [1]})
    result = pipeline.ingest(
        IngestEpisode(
            "text/plain", "All of it.", ActorRef("anna", "user"), "key", metadata, ["t", "ü", "t"], moment, expiry
        ),
        scope=scope,
    ).results[0]
    (before,) = shown(pipeline, result.ref, scope=scope).objects
    assert (before.status, before.updated_at) == (Status.PENDING, None)
    pipeline.drain()
    (memory,) = shown(pipeline, result.ref, scope=scope).objects

    assert memory.scope == scope
    assert (memory.status, memory.type) == (Status.ACTIVE, MemoryType.EPISODE)
    assert (memory.created_by, memory.dedupe_key) == (ActorRef("anna", "user"), "key")
    assert (memory.metadata, list(memory.tags)) == (metadata, ["t", "ü", "t"])
    assert (memory.occurred_at, memory.expires_at) == (moment, expiry)
    assert memory.updated_at is not None
    assert memory.created_at <= memory.updated_at
    assert memory.provenance is None


def test_who_made_it_is_the_key_where_nobody_is_named(pipeline: Pipeline) -> None:
    (memory,) = shown(pipeline, pipeline.put("Whose?").results[0].ref).objects

    assert memory.created_by == ActorRef(f"key:{pipeline.caller.key}", "system")


def test_an_atom_leads_back_to_its_episodes(pipeline: Pipeline) -> None:
    first = pipeline.put("Rosa moved to Turin. It rained all day.", scope=pipeline.scope(session="s")).results[0].ref
    second = pipeline.put("That is what I said. Rosa moved to Turin.", scope=pipeline.scope(session="s")).results[0].ref
    pipeline.drain()
    (hit, *_) = pipeline.query("Rosa moved to Turin").hits
    (atom,) = shown(pipeline, hit.ref).objects

    assert (atom.type, atom.content, atom.atom_type) == (MemoryType.ATOM, "Rosa moved to Turin.", "statement")
    assert atom.provenance is not None
    assert [(source.ref, source.span) for source in atom.provenance.source_refs] == [
        (first, Span(0, 20, "")),
        (second, Span(21, 41, "")),
    ]
    assert atom.provenance.produced_by == ActorRef("builtin@1", "plugin")
    assert atom.provenance.transformation == "extract"
    assert atom.provenance.created_at == atom.created_at
    (again,) = shown(pipeline, atom.provenance.source_refs[0].ref).objects
    assert str(again.content)[:20] == atom.content


def test_provenance_in_json_names_the_string(pipeline: Pipeline) -> None:
    content: Json = {
        "messages": [
            {"role": "user", "content": "Rosa moved to Turin."},
            {"role": "assistant", "content": "The boiler makes a noise."},
        ]
    }
    pipeline.ingest(IngestEpisode("application/json", content))
    pipeline.drain()
    (hit, *_) = pipeline.query("boiler noise").hits
    (atom,) = shown(pipeline, hit.ref).objects

    assert atom.provenance is not None
    assert [source.span for source in atom.provenance.source_refs] == [Span(0, 25, "/messages/1/content")]
    assert atom.metadata["speaker"] == "assistant"


def test_who_may_ask(pipeline: Pipeline) -> None:
    ref = pipeline.put("Mine.").results[0].ref
    everything = pipeline.caller
    pipeline.caller = replace(everything, permissions=frozenset({Permission.QUERY}))
    with pytest.raises(Unauthorized):
        shown(pipeline, ref)
    pipeline.caller = everything
    with pytest.raises(Unauthorized):
        shown(pipeline, ref, scope=Scope("another tenant", "notes"))


def test_the_scopes_filters_hold(pipeline: Pipeline, sql: Sql) -> None:
    own = pipeline.scope(filters={"room": "r1", "n": [1, 2]})
    ref = replace(pipeline.put("Rosa moved to Turin in March.", scope=own).results[0].ref, scope=pipeline.scope())
    pipeline.drain()
    ((atom, link),) = sql("SELECT from_id, id FROM links WHERE to_id = %s", ref.id)
    refs = [ref, replace(ref, id=atom, type=MemoryType.ATOM), replace(ref, id=link, type=MemoryType.LINK)]

    matching: list[dict[str, Json] | None] = [{}, {"room": "r1"}, {"n": [2]}, None]
    for filters in matching:
        assert len(shown(pipeline, *refs, scope=pipeline.scope(filters=filters)).objects) == 3
    others: list[dict[str, Json]] = [{"room": "r2"}, {"room": "r1", "more": 1}, {"n": 1}]
    for other in others:
        reply = shown(pipeline, *refs, scope=pipeline.scope(filters=other))
        assert (list(reply.objects), list(reply.missing)) == ([], refs)
    bare = pipeline.put("Stored without filters.").results[0].ref
    assert shown(pipeline, bare, scope=pipeline.scope(filters={})).missing == [bare]
