"""Pages that the code makes are what the code would make now."""

from __future__ import annotations

import re

import pytest

from docs.generate import configuration, http_api, pages
from infinicon.settings import Settings
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
