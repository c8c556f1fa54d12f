"""What looks like a credential, by the rules of gitleaks, and what does not."""

from __future__ import annotations

import random
import string

import pytest

from infinicon.credentials import Credentials, credentials, entropy
from infinicon.operations.redaction import NOTHING, Redactor

AWS = "AKIA" + "IOSFODNN7EXAMPLQ"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SLACK = "xoxb-" + "123456789012-1234567890123-abcdefghijABCDEFGHIJabcd"
KEY = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIB" + "abcD1234" * 20 + "\n-----END RSA PRIVATE " + "KEY-----"
GENERIC = "d8Hs72hsKw91jdKQ0sx8"


@pytest.mark.parametrize(
    ("text", "secret", "rule"),
    [
        (f"Our key is {AWS}, says Rosa.", AWS, "aws-access-token"),
        (f"push with {GITHUB}", GITHUB, "github-pat"),
        (f"SLACK={SLACK}", SLACK, "slack-bot-token"),
        (f"Here:\n{KEY}\nand so on", KEY, "private-key"),
        (f"api_key = '{GENERIC}'", GENERIC, "generic-api-key"),
        (f'é漢😀 {{"api_key": "{GENERIC}"}}', GENERIC, "generic-api-key"),
    ],
)
def test_it_is_found_and_named(text: str, secret: str, rule: str) -> None:
    redacted = NOTHING.strict.text(text)
    assert redacted == text.replace(secret, f"[REDACTED:{rule}]")
    assert NOTHING.strict.text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The key to happiness is friendship, and the token of it a smile.",
        "My password: I never tell it to anybody.",
        "api_key = 'aaaaaaaaaaaaaaaaaaaa'",
        "secret: some_descriptive_name_here",
        "Book a table at the Golden Key for 4 people on 2026-11-30, phone 510-338-3881.",
        f"the middle of a{AWS}word",
    ],
)
def test_talk_about_keys_is_no_key(text: str) -> None:
    assert NOTHING.strict.text(text) == text


def test_without_it_nothing_is_looked_for() -> None:
    assert NOTHING.text(AWS) == AWS


def test_a_known_secret_goes_before_what_looks_like_one() -> None:
    known = Redactor({"mine": GITHUB}).strict
    assert known.text(f"{GITHUB} {AWS}") == "[REDACTED:mine] [REDACTED:aws-access-token]"
    assert known.strict.json({f"a {AWS}": [AWS, 7]}) == {
        "a [REDACTED:aws-access-token]": ["[REDACTED:aws-access-token]", 7]
    }


def test_every_rule_is_an_expression_that_the_engine_takes() -> None:
    assert len(credentials().names) > 200
    for rule in credentials()._rules:
        rule.find("x", credentials()._allowed)


def test_a_rule_counts_only_with_its_entropy_and_outside_of_its_allow_lists() -> None:
    rules = Credentials(
        {
            "allowlist": {"stopwords": ["sample"], "paths": ["x"]},
            "rules": [
                {"id": "a", "regex": "key=([a-z0-9]+)( !)?", "keywords": ["KEY"], "entropy": 2.0, "secretGroup": 1},
                {"id": "of-files", "regex": "key=.*", "path": "x"},
                {
                    "id": "b",
                    "regex": "tok:(?:([0-9]+)|([a-z]+))",
                    "allowlists": [
                        {"regexTarget": "line", "regexes": ["^#"]},
                        {"regexTarget": "match", "regexes": ["tok:1"]},
                        {"condition": "AND", "regexes": ["2"], "stopwords": ["23"]},
                        {"condition": "AND", "paths": ["x"], "regexes": ["9"]},
                    ],
                },
            ],
        }
    )

    def found(text: str) -> list[tuple[str, str]]:
        return [(one.rule, text[one.start : one.end]) for one in rules.find(text)]

    assert found("key=abcdefg !") == [("a", "abcdefg")]
    assert found("key=aaaaaaaa") == []
    assert found("key=asamplex") == []
    assert found("tok:34") == [("b", "34")]
    assert found("tok:abc") == [("b", "abc")]
    assert found("# tok:34\ntok:56") == [("b", "56")]
    assert found("tok:12 tok:2 tok:23 tok:9") == [("b", "2"), ("b", "9")]


def test_entropy_is_that_of_characters() -> None:
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2


def test_a_long_text_of_keywords_is_gone_through_in_linear_time() -> None:
    """What backtracks on it takes minutes."""
    words = "api_key key token secret aws ghp_ password= " * 5_000
    assert NOTHING.strict.text(words) == words


def test_of_generated_keys_most_are_found() -> None:
    source = random.Random(7)
    letters = string.ascii_letters + string.digits
    made = ["".join(source.choices(letters, k=32)) for _ in range(200)]
    found = sum(one not in NOTHING.strict.text(f"the token is: {one}") for one in made)
    assert found >= 190
