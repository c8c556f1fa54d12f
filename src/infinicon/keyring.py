"""Keys derived from the one master key (HKDF-SHA256, RFC 5869), one for each purpose: none can stand in for another."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

API_KEY_PREFIX = "inf_"
NONCE = 12
"""Bytes before a ciphertext: random, for a key that seals few things (NIST SP 800-38D, 8.2.2)."""


class SealBroken(Exception):
    """Not sealed under this master key, or not for this place."""


class Keyring:
    """Derives keys from the master key.

    `purpose` is a stable word; a change of it makes everything made with it unreadable.
    """

    def __init__(self, master_key: str) -> None:
        self._master = master_key.encode()
        self._derive = lru_cache(maxsize=32)(self._derive_uncached)

    def _derive_uncached(self, purpose: str) -> bytes:
        return HKDF(SHA256(), 32, salt=b"infinicon/v0", info=purpose.encode()).derive(self._master)

    def mac(self, purpose: str, *parts: bytes) -> bytes:
        """HMAC-SHA256 over length-prefixed parts: ("ab", "c") and ("a", "bc") differ."""
        state = hmac.new(self._derive(purpose), digestmod=hashlib.sha256)
        for part in parts:
            state.update(len(part).to_bytes(8, "big"))
            state.update(part)
        return state.digest()

    @property
    def id(self) -> str:
        """Names the master key without telling anything of it, so that what is kept can say under which one it is."""
        return self._derive("key id").hex()[:16]

    def seal(self, purpose: str, value: bytes, context: bytes) -> bytes:
        """Encrypt (AES-256-GCM). It opens with the same purpose and context only."""
        nonce = secrets.token_bytes(NONCE)
        return nonce + AESGCM(self._derive(purpose)).encrypt(nonce, value, context)

    def open(self, purpose: str, sealed: bytes, context: bytes) -> bytes:
        """What was sealed. Raises SealBroken."""
        try:
            return AESGCM(self._derive(purpose)).decrypt(sealed[:NONCE], sealed[NONCE:], context)
        except (InvalidTag, ValueError):
            raise SealBroken from None

    def token(self, purpose: str) -> str:
        """A bearer secret that both ends of an internal connection derive for themselves."""
        return self._derive(purpose).hex()


def new_api_key() -> str:
    """256 random bits, printable."""
    return API_KEY_PREFIX + secrets.token_urlsafe(32)


def api_key_digest(key: str) -> bytes:
    """SHA-256: a key has 256 bits of its own, so a slow hash would add nothing (NIST SP 800-63B, 5.1.2)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
