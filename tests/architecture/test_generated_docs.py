"""Pages that the code makes are what the code would make now."""

from __future__ import annotations

import re

import pytest

from docs.generate import configuration, http_api, pages, transcripts
from infinicon.settings import Settings
from tests.architecture.test_docs import DOCUMENTS
from tests.architecture.trees import ROOT


@pytest.mark.parametrize("name", pages.PAGES)
def test_page_is_up_to_date(name: str) -> None:
    committed = (ROOT / "docs" / name).read_text(encoding="utf-8")

    assert committed == pages.PAGES[name](), f"docs/{name} is not what `make docs` makes of the code: run it"


def test_every_setting_is_in_a_group() -> None:
    assert [name for names in configuration.groups().values() for name in names] == list(Settings.model_fields)
    assert set(configuration.groups()) == set(configuration.GROUPS)


def test_what_is_said_not_to_be_there_is_not_served() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## What is not there yet\n")[2].partition("\n## ")[0]
    missing = set(re.findall(r"`POST (/v0/[\w-]+)`", section))

    assert missing & set(http_api.document()["paths"]) == set(), "README.md says that this is not there yet"


def test_no_secret_is_shown() -> None:
    """A default that a secret may get one day must not be printed by accident."""
    assert "SecretStr" not in configuration.make()


def test_every_output_that_a_document_shows_is_run() -> None:
    showing = {
        document.relative_to(ROOT).as_posix()
        for document in DOCUMENTS
        if any(command.output for command in transcripts.commands(document.read_text(encoding="utf-8")))
    }

    assert showing - set(transcripts.DOCUMENTS) == set(), "docs/generate/transcripts.py does not run their commands"


TRANSCRIPT = """# A page

```console
$ infinicon namespaces
namespace  created
home       2026-11-30T17:13:19.002808Z
$ export A=1
```

```sh
make setup
```

```sh
curl -s URL \\
  -d x
```

```json
{"id": "01a22d72-5b9d-7041-aa95-ec7772159d1c"}
```
"""


def test_commands_and_their_outputs_are_found() -> None:
    found = transcripts.commands(TRANSCRIPT)

    assert [command.text for command in found] == ["infinicon namespaces", "export A=1", "curl -s URL \\\n  -d x"]
    assert [command.output for command in found][1:] == ["", '{"id": "01a22d72-5b9d-7041-aa95-ec7772159d1c"}\n']
    assert all(TRANSCRIPT[command.start : command.end] == command.output for command in found)


def test_what_differs_from_run_to_run_is_masked_and_nothing_else() -> None:
    one = "atom 01a22d72-5b9d-7041-aa95-ec7772159d1c  0.954  2026-11-30T17:13:19.002808Z Mina has the key."
    other = "atom 01a22d72-5b9d-7041-aa95-ec7772159fff  0.912  2027-01-02T07:08:09.1Z Mina has the key."

    assert transcripts.masked(one) == transcripts.masked(other)
    assert transcripts.masked(one) != transcripts.masked(other.replace("Mina", "Oskar"))
