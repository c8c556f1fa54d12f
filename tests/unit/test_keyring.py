"""Keys for one purpose each."""

from __future__ import annotations

from infinicon.keyring import API_KEY_PREFIX, Keyring, api_key_digest, new_api_key

KEYRING = Keyring("k" * 32)


def test_equal_input_has_an_equal_mac_on_every_machine() -> None:
    assert KEYRING.mac("dedupe", b"a", b"b") == Keyring("k" * 32).mac("dedupe", b"a", b"b")


def test_purpose_parts_and_master_key_all_count() -> None:
    macs = {
        KEYRING.mac("dedupe", b"ab", b"c"),
        KEYRING.mac("dedupe", b"a", b"bc"),
        KEYRING.mac("dedupe", b"abc"),
        KEYRING.mac("content", b"ab", b"c"),
        Keyring("x" * 32).mac("dedupe", b"ab", b"c"),
    }

    assert len(macs) == 5


def test_a_token_is_no_mac_of_another_purpose() -> None:
    assert KEYRING.token("encoder") != KEYRING.token("flower")
    assert KEYRING.token("encoder") == Keyring("k" * 32).token("encoder")


def test_api_keys_are_unguessable_and_stored_as_a_digest() -> None:
    key = new_api_key()

    assert key.startswith(API_KEY_PREFIX)
    assert len(key) >= len(API_KEY_PREFIX) + 43  # 256 bits in base64
    assert key != new_api_key()
    assert len(api_key_digest(key)) == 32


def test_a_key_that_is_no_unicode_has_a_digest_too() -> None:
    assert api_key_digest("inf_\ud800") != api_key_digest("inf_")
