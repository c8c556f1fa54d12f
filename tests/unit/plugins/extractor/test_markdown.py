"""Markdown without its markup."""

from __future__ import annotations

import pytest

from infinicon.plugins.extractor.markdown import bare, markdown_blocks, plain


def runs(text: str) -> list[list[str]]:
    blocks, _ = markdown_blocks(text)
    return [[text[start:end] for start, end in block.runs] for block in blocks]


def test_prefixes_are_no_content() -> None:
    text = "# Title #\n> quoted\n\n- one\n* [x] two\n3. three\n\n| a | b |\n|---|---|\n| c | d |\n\n---\n<br>\n[ref]: http://x.example\nlast"

    assert runs(text) == [["quoted"], ["one"], ["two"], ["three"], ["| c | d |"], ["last"]]


def test_a_title_is_in_no_block() -> None:
    assert runs("Before\n## Title\nAfter") == [["Before"], ["After"]]


def test_code_is_left_out_and_reported() -> None:
    assert runs("Run it:\n\n```sh\nmake demo\n```\n\nThen look.") == [["Run it:"], ["Then look."]]
    assert markdown_blocks("- ```\n  code\n  ```\n")[1]


@pytest.mark.parametrize(
    ("marked_up", "without"),
    [
        ("**All of it.**", "All of it."),
        ("**Name**: the rest", "**Name**: the rest"),
        ("**Cut off here.", "Cut off here."),
        ("cut off there.**", "cut off there."),
        ("_emphasis_", "emphasis"),
        ("`code`", "code"),
        ("[link text](http://x.example)", "link text"),
        ("![alt](img.png)", "alt"),
        ("see [link](http://x.example) there", "see [link](http://x.example) there"),
        ("| cell | cell |", "cell | cell"),
        ("****", ""),
        ("*", ""),
        ("***both***", "both"),
    ],
)
def test_edges(marked_up: str, without: str) -> None:
    text = f"<<{marked_up}>>"
    start, end = bare(text, 2, len(text) - 2)

    assert text[start:end] == without


@pytest.mark.parametrize(
    ("marked_up", "without"),
    [
        ("## A *title*", "A title"),
        ("a **bold** and `code` and ~~gone~~", "a bold and code and gone"),
        ("snake_case stays, _this_ goes", "snake_case stays, this goes"),
        ('![alt](i.png) [text](http://x.example "t")', 'alt (i.png) text (http://x.example "t")'),
        ("```\n**kept**\n```", "**kept**"),
        ("a\n\n---\n\nb", "a\n\n\nb"),
    ],
)
def test_plain(marked_up: str, without: str) -> None:
    assert plain(marked_up) == without


@pytest.mark.parametrize(
    "line",
    ["[Anna]: I moved to Zanzibar.", "[10:30]: Lunch in Havana", "[^1]: Zanzibar is an island.", "[Tom]: Berlin",
     "[a]: http://x.y is down"],
)  # fmt: skip
def test_brackets_and_a_colon_are_prose(line: str) -> None:
    assert runs(line) == [[line]]
    assert plain(line) == line


@pytest.mark.parametrize(
    "line",
    ["[ref]: http://x.example", '[ref]: <http://x.example> "A title"', "[a]: ./b.md", "[a]: docs/b.md (t)",
     "<!-- a note -->", "<img alt='x'>"],
)  # fmt: skip
def test_what_is_no_prose_is_still_searchable(line: str) -> None:
    assert markdown_blocks(line) == ([], True)
    assert plain(line) == line


def test_front_matter_and_the_heads_of_tables_are_no_claims() -> None:
    text = "---\ntitle: A trip\n---\nTitle\n====\n\nA | B\n--|--\nc. D | e\n\n- one\n  more\n- two"

    assert runs(text) == [["c. D | e"], ["one\n  more"], ["two"]]
    assert markdown_blocks(text)[1]
    assert all(word in plain(text) for word in ("title: A trip", "Title", "A | B"))


def test_signs_between_words_are_no_marks() -> None:
    assert plain("2*3*4 and **b**") == "2*3*4 and b"
    assert plain("1990. A good year") == "1990. A good year"
