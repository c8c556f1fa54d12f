"""The encoder's client keeps the embedder's contract, through a real process with the real model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinicon.encoder.client import EncoderClient
from infinicon.keyring import Keyring
from infinicon.ports import Embedder
from infinicon.testing.embedders import EmbedderSuite
from tests.waiting import wait_until

pytestmark = pytest.mark.model

KEY = "k" * 32
RUN = "from infinicon.encoder.server import run; from infinicon.settings import settings; run(settings())"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EncoderClient]:
    path: Path = tmp_path_factory.mktemp("s") / "encoder"
    environment = {**os.environ, "INFINICON_ENCODER_URL": f"unix://{path}", "INFINICON_MASTER_KEY": KEY}
    process = subprocess.Popen([sys.executable, "-c", RUN], env=environment)
    try:
        with EncoderClient(f"unix://{path}", Keyring(KEY).token("encoder"), 60) as found:
            wait_until(found.ready, "the encoder is ready")
            yield found
    finally:
        process.terminate()
        process.wait(30)


class TestEncoder(EmbedderSuite):
    @pytest.fixture
    def embedder(self, client: EncoderClient) -> Embedder:
        return client
