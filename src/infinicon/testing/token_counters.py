"""What every token counter must keep. In a test module:

class TestMine(TokenCounterSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def counter(cls): return MyCounter()
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from infinicon.ports import TokenCounter
from infinicon.testing.extractors import fastest

TEXTS = [
    "",
    "a",
    "The heron flew over the bay at dawn.",
    "  leading, and\ttabs\r\n\n\nand lines  ",
    "漢字かな交じり文 한국어 ภาษาไทย العربية",
    "e\u0301 is not \u00e9",
    "👩\u200d👩\u200d👧 🇯🇵",
    "<|endoftext|><|fim_prefix|><|im_start|>[REDACTED:key]",
    "\x00\ufffd\ud7ff\ue000",
    "tail \ud83d end",
]
RUNS = {
    "one letter": "a",
    "one word": "Abc",
    "blanks": " ",
    "line ends": "\r\n",
    "accents": "\u0301",
    "emoji": "👩\u200d",
    "Han": "中",
    "marks": "[",
}
LONG = {"one letter": "a" * 200_000, "blanks": " " * 1_000_000, "a line end, then blanks": "\n" + " " * 1_000_000 + "x"}


class TokenCounterSuite:
    """Subclass it and provide the fixture `counter`."""

    @pytest.fixture
    def counter(self) -> TokenCounter:
        raise NotImplementedError("provide the fixture `counter`")

    def test_it_has_a_name(self, counter: TokenCounter) -> None:
        assert counter.name

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_every_text_has_a_count(self, counter: TokenCounter, text: str) -> None:
        count = counter.count(text)
        assert isinstance(count, int)
        assert count >= 0
        assert (count == 0) is (text == "")

    def test_equal_text_has_equal_counts_from_any_thread(self, counter: TokenCounter) -> None:
        alone = [counter.count(text) for text in TEXTS]
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(counter.count, TEXTS * 20)) == alone * 20

    @pytest.mark.parametrize("name", RUNS)
    def test_time_grows_with_the_length(self, counter: TokenCounter, name: str) -> None:
        def work(length: int) -> Callable[[], object]:
            text = (RUNS[name] * length)[:length]
            return lambda: counter.count(text)

        # Sixteen times the text takes 256 times as long where time grows with the square.
        assert fastest(work(160_000)) < 80 * max(fastest(work(10_000)), 1e-3)

    @pytest.mark.parametrize("name", LONG)
    def test_a_long_run_is_counted(self, counter: TokenCounter, name: str) -> None:
        assert counter.count(LONG[name]) > 0
