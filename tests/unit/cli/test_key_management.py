from __future__ import annotations

import pytest

from infinicon.cli.faults import WrongUsage
from infinicon.cli.key_management import seconds


@pytest.mark.parametrize(
    ("text", "read"), [("0", 0), ("90", 90), ("90s", 90), ("10m", 600), ("12h", 43200), ("7d", 604800)]
)
def test_a_length_of_time(text: str, read: int) -> None:
    assert seconds(text) == read


@pytest.mark.parametrize("text", ["", "h", "-1h", "1.5h", "1w", "1 h", "9" * 10])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(WrongUsage):
        seconds(text)
