"""The built-in token counters keep the contract."""

from __future__ import annotations

import pytest

from infinicon.plugins import counters
from infinicon.ports import TokenCounter
from infinicon.settings import Settings
from infinicon.testing.token_counters import TokenCounterSuite


class TestO200kBase(TokenCounterSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def counter(cls) -> TokenCounter:
        return counters.o200k_base(Settings())


class TestCl100kBase(TokenCounterSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def counter(cls) -> TokenCounter:
        return counters.cl100k_base(Settings())


class TestCharacters(TokenCounterSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def counter(cls) -> TokenCounter:
        return counters.chars(Settings())
