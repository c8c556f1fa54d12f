"""embed: each text once, and a text that the model cannot take stays alone with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from infinicon.domain import IngestEpisode, JobStatus, Lane, Span
from infinicon.errors import InvalidContent, MissingDependency, PluginFailed, Unavailable
from infinicon.operations.dispatch import LaneLimits
from infinicon.operations.embed import encode
from infinicon.ports import Vectors
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.together import together


class Watched(WordEmbedder):
    """Remembers what it was asked to embed, and refuses texts that hold a certain word."""

    def __init__(self, refuses: str = "\0", fault: Exception | None = None) -> None:
        self.calls: list[list[str]] = []
        self._refuses = refuses
        self._fault = fault or InvalidContent("a text cannot be embedded")

    @property
    def texts(self) -> list[str]:
        return [text for call in self.calls for text in call]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        if any(self._refuses in text for text in texts):
            raise self._fault
        return super().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        return WordEmbedder().embed([text])


class Odd(WordEmbedder):
    """Answers with something that is no vector for texts that hold a certain word."""

    def __init__(self, word: str, value: Callable[[Vectors], Vectors]) -> None:
        self._word = word
        self._value = value

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed(texts)
        for number, text in enumerate(texts):
            if self._word in text:
                vectors[number] = self._value(vectors[number])
        return vectors

    def embed_query(self, text: str) -> Vectors:
        return WordEmbedder().embed([text])


def vectors_of(sql: Sql, pipeline: Pipeline) -> dict[str, bool]:
    """For each indexed memory its content, and whether it has a vector."""
    return dict(
        sql(
            """SELECT m.content, s.vector IS NOT NULL FROM space_rows s JOIN memories m ON m.id = s.memory
               WHERE s.tenant = %s""",
            pipeline.caller.tenant,
        )
    )


def test_the_same_text_is_embedded_once(pipeline: Pipeline) -> None:
    pipeline.embedder = watched = Watched()
    same = "The same words."
    for session in ("a", "b", "c"):
        pipeline.put(same, f"Only said in {session}.", scope=pipeline.scope(session=session))
    pipeline.drain()

    assert len(watched.calls) == 1
    assert sorted(watched.texts) == sorted({same, *(f"Only said in {session}." for session in "abc")})
    for session in ("a", "b", "c"):
        assert pipeline.found("same words", 1, pipeline.scope(session=session)) == [same]


def test_a_text_that_the_namespace_has_is_not_embedded_again(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.embedder = watched = Watched()
    for session in ("a", "b"):
        pipeline.put("The same words.", scope=pipeline.scope(session=session))
        pipeline.drain()

    assert watched.texts == ["The same words."]
    distinct = sql("SELECT count(*), count(DISTINCT vector) FROM space_rows WHERE tenant = %s", pipeline.caller.tenant)
    assert distinct == [(2, 1)]


def test_namespaces_and_tenants_share_no_vectors(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    watched = Watched()
    other = new_pipeline()
    for one, namespace in ((pipeline, "a"), (pipeline, "b"), (other, "a")):
        one.embedder = watched
        one.put("The same words.", scope=one.scope(namespace))
        one.drain()

    assert watched.texts == ["The same words."] * 3


def test_who_speaks_is_part_of_the_text(pipeline: Pipeline) -> None:
    pipeline.embedder = watched = Watched()
    for speaker in ("Anna", "Bert", None):
        metadata = {} if speaker is None else {"speaker": speaker}
        pipeline.ingest(IngestEpisode("text/plain", "I moved to Turin.", metadata=metadata))
    pipeline.drain()

    assert sorted(watched.texts) == ["Anna: I moved to Turin.", "Bert: I moved to Turin.", "I moved to Turin."]


@pytest.mark.parametrize("fault", [InvalidContent("unreadable"), ValueError("unreadable"), PluginFailed("it raised")])
def test_a_refused_text_is_found_by_its_words_and_named(pipeline: Pipeline, sql: Sql, fault: Exception) -> None:
    pipeline.embedder = Watched("indigestible", fault)
    reply = pipeline.put("One indigestible fact.", "A harmless fact.")
    other = pipeline.put("A harmless neighbour.")
    pipeline.drain()

    job = pipeline.job(reply.job_id)
    assert job.status is JobStatus.COMPLETED
    ((atom,),) = sql(
        "SELECT id FROM memories WHERE content = 'One indigestible fact.' AND type = 'atom' AND tenant = %s",
        pipeline.caller.tenant,
    )
    assert job.result == {"warnings": [{"code": "not_embedded", "memoryId": str(atom)}]}
    assert pipeline.job(other.job_id).result is None
    assert vectors_of(sql, pipeline) == {
        "One indigestible fact.": False,
        "A harmless fact.": True,
        "A harmless neighbour.": True,
    }
    hits = pipeline.query("indigestible").hits
    assert hits[0].ref.id == atom
    assert all(math.isfinite(hit.score) for hit in hits)


def test_one_refused_text_in_the_middle_of_a_hundred(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.embedder = watched = Watched("indigestible")
    texts = [f"Fact number {number}." for number in range(100)]
    texts[50] = "One indigestible fact."
    pipeline.limits = LaneLimits(100, 10_000, 100)
    reply = pipeline.put(*texts, lane=Lane.BULK)
    pipeline.drain()

    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done) == (JobStatus.COMPLETED, 100)
    assert isinstance(job.result, dict)
    assert len(job.result["warnings"]) == 1  # type: ignore[arg-type] # a list, as the test above has it
    found = vectors_of(sql, pipeline)
    assert len(found) == 100
    assert [content for content, has_vector in found.items() if not has_vector] == ["One indigestible fact."]
    assert len(watched.calls) <= 1 + 2 * math.ceil(math.log2(100))


def test_batches_at_once_lose_no_warning_of_their_jobs(pipeline: Pipeline) -> None:
    pipeline.embedder = Watched("indigestible")
    jobs = [
        pipeline.put(*[f"An indigestible fact, number {n} of {name}." for n in range(6)], lane=Lane.BULK).job_id
        for name in ("one", "two")
    ]
    pipeline.limits = LaneLimits(3, 10_000, 100)
    together(
        *[lambda ref=ref: pipeline.embed(ref) for ref in [pipeline.extract(ref) for ref in pipeline.claim(Lane.BULK)]]
    )

    for job in jobs:
        result = pipeline.job(job).result
        assert isinstance(result, dict)
        assert len({str(warning) for warning in result["warnings"]}) == 6  # type: ignore[union-attr] # a list


NO_VECTORS: list[Callable[[Vectors], Vectors]] = [
    lambda vector: vector * np.float16(0),
    lambda vector: vector * np.float16(np.nan),
    lambda vector: vector + np.float16(np.inf),
]


@pytest.mark.parametrize("value", NO_VECTORS, ids=["zero", "nan", "infinite"])
def test_what_is_no_vector_is_not_stored_as_one(
    pipeline: Pipeline, sql: Sql, value: Callable[[Vectors], Vectors]
) -> None:
    pipeline.embedder = Odd("null-note", value)
    reply = pipeline.put("This is the null-note.", "This is another note.")
    pipeline.drain()

    job = pipeline.job(reply.job_id)
    assert job.status is JobStatus.COMPLETED
    assert "not_embedded" in repr(job.result)
    assert vectors_of(sql, pipeline) == {"This is the null-note.": False, "This is another note.": True}
    hits = pipeline.query("null-note").hits
    assert len(hits) == 2
    assert all(math.isfinite(hit.score) for hit in hits)


class Short(WordEmbedder):
    """Answers with another shape than it was asked for."""

    def __init__(self, shape: Callable[[Vectors], Vectors]) -> None:
        self._shape = shape

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._shape(super().embed(texts))


SHAPES: list[Callable[[Vectors], Vectors]] = [
    lambda vectors: vectors[1:],
    lambda vectors: vectors[:, :32],
    lambda vectors: vectors[0],
]


@pytest.mark.parametrize("shape", SHAPES, ids=["a row too few", "another dimension", "no matrix"])
def test_another_shape_is_the_plugins_fault_and_nothing_is_mixed_up(
    pipeline: Pipeline, sql: Sql, shape: Callable[[Vectors], Vectors]
) -> None:
    """An embedder that lies about every text is broken: its batches wait for one that does not."""
    pipeline.embedder = Short(shape)
    reply = pipeline.put("One fact of two.", "Another fact of two.")
    (batch,) = pipeline.claim()
    with pytest.raises(Unavailable):
        pipeline.run(batch)

    assert vectors_of(sql, pipeline) == {}
    assert pipeline.job(reply.job_id).status is JobStatus.RUNNING
    pipeline.embedder = WordEmbedder()
    for lost in pipeline.reconcile():
        pipeline.run(lost)
    assert len(pipeline.found("fact")) == 2


def test_an_outage_goes_through_at_once(pipeline: Pipeline) -> None:
    for fault in (Unavailable("away"), MissingDependency("gone")):
        watched = Watched("", fault)
        with pytest.raises(type(fault)):
            encode(watched, ["a", "b", "c", "d"])
        assert len(watched.calls) == 1


def test_nothing_to_embed_is_no_call(pipeline: Pipeline) -> None:
    watched = Watched()
    assert encode(watched, []) == []
    assert watched.calls == []


class Cutting(WordEmbedder):
    """Reads 30 characters at once."""

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        return [[Span(at, min(at + 30, len(text))) for at in range(0, max(len(text), 1), 30)] for text in texts]


def test_a_long_text_is_found_by_each_of_its_pieces(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.embedder = Cutting()
    text = "𝒜 heron stood in the shallows, while at the far end of the bay a lighthouse blinked twice"
    pipeline.put(text, "Unrelated words are in this one.")
    pipeline.drain()

    spans = sql(
        "SELECT s.span_start, s.span_end FROM space_rows s JOIN memories m ON m.id = s.memory WHERE m.content = %s ORDER BY chunk",
        text,
    )
    assert spans == [(0, 30), (30, 60), (60, len(text))]
    for word in ("heron", "lighthouse", "blinked twice"):
        assert pipeline.found(word)[0] == text  # once, under its best piece
        assert pipeline.found(word).count(text) == 1


def test_a_second_try_replaces_what_the_first_has_staged(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Embedded twice.")
    (ref,) = pipeline.claim()
    ref = pipeline.extract(ref)
    pipeline.embed(ref)
    sql("UPDATE batches SET stage = 'embed' WHERE id = %s", ref.batch)
    pipeline.index(pipeline.embed(ref))

    assert vectors_of(sql, pipeline) == {"Embedded twice.": True}


class Broken(WordEmbedder):
    """Refuses every text, as a model does whose device is gone."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError(f"no device for {len(texts)} texts")


def test_an_embedder_that_refuses_every_text_is_an_outage(pipeline: Pipeline) -> None:
    """Otherwise a dead device would index everything without vectors, and its jobs would say that they are completed."""
    pipeline.put("The orchard gate is blue.", "Rosa moved to Turin.")
    pipeline.embedder = Broken()
    (batch,) = pipeline.claim()
    with pytest.raises(Unavailable):
        pipeline.run(batch)
    pipeline.embedder = WordEmbedder()
    for lost in pipeline.reconcile():
        pipeline.run(lost)
    assert len(pipeline.query("orchard").hits) == 2
