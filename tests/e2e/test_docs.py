"""What documents say that a command prints is what it prints, and the OpenAPI document is the one that is served."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from docs.generate import transcripts
from docs.generate.pages import DOCS


def test_commands_print_what_their_documents_say(tmp_path: Path) -> None:
    with transcripts.stage(tmp_path) as stage:
        different = [str(found) for document in transcripts.DOCUMENTS for found in stage.differences(document)]

    assert different == [], "if this is right, `make docs` pastes it: " + "\n".join(different)


def test_the_committed_document_is_the_one_that_is_served(http: httpx.Client) -> None:
    assert http.get("/openapi.json").json() == json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
