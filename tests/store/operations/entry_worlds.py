"""Entries for tests: put by the door, and read by the door."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from infinicon.domain import Entry, ListReply, ListRequest, PutReply, PutRequest, Rank, Scope, TombstoneStatus
from infinicon.operations import bindings as binding
from infinicon.operations.entries import delete_entry, get_entry, list_entries
from infinicon.operations.put import put
from tests.store.operations.conftest import Pipeline


def put_entry(pipeline: Pipeline, content: str, ref: str = "notes", **more: Any) -> Entry:
    return answered(pipeline, content, ref, **more).entry


def answered(pipeline: Pipeline, content: str, ref: str = "notes", **more: Any) -> PutReply:
    """What put answers with."""
    return put(pipeline.app, pipeline.keyring, pipeline.counters, pipeline.caller, PutRequest(ref, content, **more))


def listed(pipeline: Pipeline, ref: str | None = "notes", **wanted: Any) -> ListReply:
    request = ListRequest(ref, **wanted)
    return list_entries(pipeline.app, pipeline.embedder, pipeline.counters, pipeline.caller, request)


def relevant(pipeline: Pipeline, query: str, ref: str = "notes", **wanted: Any) -> ListReply:
    return listed(pipeline, ref, rank=Rank.RELEVANCE, query=query, **wanted)


def get(pipeline: Pipeline, entry: UUID | str, ref: str | None = "notes") -> Entry | None:
    return get_entry(pipeline.app, pipeline.caller, ref, str(entry))


def delete(pipeline: Pipeline, entry: UUID | str, ref: str | None = "notes") -> TombstoneStatus:
    return delete_entry(pipeline.app, pipeline.caller, ref, str(entry))


def bind(pipeline: Pipeline, ref: str, scope: Scope) -> None:
    binding.bind(pipeline.app, pipeline.keyring, pipeline.caller, ref, scope)


def contents(reply: ListReply) -> list[str]:
    return [entry.content for entry in reply.entries]
