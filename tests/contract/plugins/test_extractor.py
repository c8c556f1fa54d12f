"""The built-in extractor keeps the contract."""

from __future__ import annotations

import pytest

from infinicon.plugins.extractor import load
from infinicon.ports import Extractor
from infinicon.settings import Settings
from infinicon.testing.extractors import ExtractorSuite


class TestBuiltin(ExtractorSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def extractor(cls) -> Extractor:
        return load(Settings())
