"""Keys derived from the one master key (HKDF-SHA256, RFC 5869), one for each purpose: none can stand in for another."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

API_KEY_PREFIX = "inf_"


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

    def token(self, purpose: str) -> str:
        """A bearer secret that both ends of an internal connection derive for themselves."""
        return self._derive(purpose).hex()


def new_api_key() -> str:
    """256 random bits, printable."""
    return API_KEY_PREFIX + secrets.token_urlsafe(32)


def api_key_digest(key: str) -> bytes:
    """SHA-256: a key has 256 bits of its own, so a slow hash would add nothing (NIST SP 800-63B, 5.1.2)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
