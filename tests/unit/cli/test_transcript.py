"""The transcript on its way in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client

LINE = {"n": 7, "at": "1970-04-11T19:13:05Z", "get": "00:00:00:05", "speaker": "CDR", "text": "Yaw program."}


class FakeClient:
    """Accepts everything; a job is over the second time it is asked for."""

    def __init__(self, status: str = "created") -> None:
        self.status = status
        self.requests: list[tuple[int, dict[str, object]]] = []
        self.asked: dict[str, int] = {}

    def ingest(self, episodes: Sequence[Wire], **fields: object) -> Wire:
        self.requests.append((len(episodes), fields))
        return {"results": [{"status": self.status} for _ in episodes], "jobId": f"job-{episodes[0]['metadata']['n']}"}

    def job(self, job_id: str) -> Wire:
        self.asked[job_id] = self.asked.get(job_id, 0) + 1
        over = self.asked[job_id] > 1
        return {
            "status": "completed" if over else "running",
            "progress": {"done": int(over), "failed": 0, "total": 1, "embed": 1 - over},
        }


def as_client(fake: FakeClient) -> Client:
    return cast(Client, fake)


def episodes(count: int) -> list[Wire]:
    return [{"content": "x", "metadata": {"n": number}} for number in range(count)]


@pytest.mark.parametrize("compressed", [True, False])
def test_an_utterance_becomes_an_episode_with_speaker_and_mission_time(tmp_path: Path, compressed: bool) -> None:
    raw = (json.dumps(LINE) + "\n").encode()
    path = tmp_path / ("t.jsonl.gz" if compressed else "t.jsonl")
    path.write_bytes(gzip.compress(raw) if compressed else raw)

    assert transcript.read(path) == [
        {
            "contentType": "text/plain",
            "content": "Yaw program.",
            "dedupeKey": "apollo13-7",
            "createdBy": {"id": "CDR", "kind": "user"},
            "metadata": {"speaker": "CDR", "get": "00:00:00:05", "n": 7},
            "occurredAt": "1970-04-11T19:13:05Z",
        }
    ]


def test_the_sample_is_whole() -> None:
    found = transcript.read(transcript.SAMPLE)

    assert len({episode["dedupeKey"] for episode in found}) == 11_233


def test_everything_is_sent_in_order_in_the_bulk_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "EPISODES_A_REQUEST", 2)
    fake, sent, sizes = FakeClient(), transcript.Sent(), list[int]()

    transcript.send(as_client(fake), episodes(5), sent, sizes.append)

    assert sizes == [2, 2, 1]
    assert sent.results == {"created": 5}
    assert sent.job_ids == ["job-0", "job-2", "job-4"]
    assert all(fields == {"lane": "bulk", "label": "apollo13"} for _, fields in fake.requests)


def test_progress_is_followed_until_every_job_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "EPISODES_A_REQUEST", 1)
    monkeypatch.setattr(transcript, "POLL_SECONDS", 0.0)
    fake, sent = FakeClient(), transcript.Sent()

    seen = list(transcript.send_and_follow(as_client(fake), episodes(3), sent))

    progress, jobs = seen[-1]
    assert (progress.done, progress.total, progress.embed) == (3, 3, 0)
    assert [job["status"] for job in jobs] == ["completed"] * 3
    assert set(fake.asked.values()) == {2}, "a job that is over is not asked for again"


def test_a_request_that_fails_ends_the_following(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "POLL_SECONDS", 0.0)
    fake = FakeClient()
    monkeypatch.setattr(fake, "ingest", lambda *_, **__: {"no": "results"})

    with pytest.raises(KeyError):
        list(transcript.send_and_follow(as_client(fake), episodes(1), transcript.Sent()))
