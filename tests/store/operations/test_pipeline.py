"""From ingest to query, without processes between."""

from __future__ import annotations

from infinicon.domain import (
    HydrateRequest,
    IngestEpisode,
    IngestReply,
    IngestRequest,
    IngestStatus,
    JobStatus,
    MemoryType,
)
from infinicon.operations.hydrate import hydrate
from infinicon.operations.ingest import ingest
from infinicon.operations.jobs import get_job
from tests.store.operations.conftest import Pipeline


def put(pipeline: Pipeline, *texts: str) -> IngestReply:
    episodes = [IngestEpisode("text/plain", text, dedupe_key=f"key-{text}") for text in texts]
    return ingest(
        pipeline.app, pipeline.keyring, pipeline.extractor, pipeline.caller, IngestRequest(pipeline.scope(), episodes)
    )


def test_what_goes_in_is_found(pipeline: Pipeline) -> None:
    reply = put(
        pipeline, "The orchard gate code is on the blue tag.", "Rosa moved to Turin. The boiler moved to the cellar."
    )
    assert [result.status for result in reply.results] == [IngestStatus.CREATED] * 2
    job = get_job(pipeline.app, pipeline.caller, pipeline.scope(), str(reply.job_id))
    assert job.status is JobStatus.QUEUED
    pipeline.drain()
    job = get_job(pipeline.app, pipeline.caller, pipeline.scope(), str(reply.job_id))
    assert job.status is JobStatus.COMPLETED
    assert (job.progress.done, job.progress.total) == (2, 2)
    found = pipeline.query("gate code")
    assert found.hits[0].ref.type is MemoryType.ATOM
    assert found.hits[0].sources[0].id == reply.results[0].ref.id
    assert "gate" in found.hits[0].reason
    shown = hydrate(pipeline.app, pipeline.caller, HydrateRequest(pipeline.scope(), [hit.ref for hit in found.hits]))
    assert shown.objects[0].content == "The orchard gate code is on the blue tag."
    assert not shown.missing


def test_the_same_again_adds_nothing(pipeline: Pipeline) -> None:
    first = put(pipeline, "Once is enough for this one.")
    pipeline.drain()
    again = put(pipeline, "Once is enough for this one.")
    assert again.results[0].status is IngestStatus.DEDUPLICATED
    assert again.results[0].ref.id == first.results[0].ref.id
    assert get_job(pipeline.app, pipeline.caller, pipeline.scope(), str(again.job_id)).status is JobStatus.COMPLETED
