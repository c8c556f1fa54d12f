"""One running Infinicon for the whole session, started as a person starts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from infinicon.cli.instance import Client, Instance, running
from infinicon.embedded.processes import MODEL_ENVIRONMENT


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """`infinicon up` on fresh data; SIGTERM at the end, which must end it cleanly."""
    # Tests before this one may have loaded a model here, and with it what its libraries want to find; `up` would hand that on.
    for name in MODEL_ENVIRONMENT:
        os.environ.pop(name, None)
    with running(tmp_path_factory.mktemp("live")) as instance:
        yield instance


@pytest.fixture
def client(live: Instance) -> Iterator[Client]:
    """Memory API v0 in a namespace that only this test knows."""
    with Client(live, f"test-{uuid4()}") as open_client:
        yield open_client


@pytest.fixture
def http(live: Instance) -> Iterator[httpx.Client]:
    """Plain HTTP with a valid key, for requests that Client would not send."""
    headers = {"Authorization": f"Bearer {live.api_key}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=120) as open_client:
        yield open_client
