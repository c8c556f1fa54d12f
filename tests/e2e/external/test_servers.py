"""Servers that are not installed: a reason to skip on a laptop, and to fail where CI should have installed them."""

from __future__ import annotations

import pytest

from tests.e2e.external.servers import needed


def test_on_a_laptop_it_skips_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="apt-get install some-server"):
        needed("a-program-that-nobody-has", "some-server")


def test_in_ci_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="apt-get install some-server"):
        needed("a-program-that-nobody-has", "some-server")


def test_what_is_there_is_found() -> None:
    assert needed("sh", "dash").endswith("/sh")
