"""UUID version 7 (RFC 9562): ids that sort by the time of their making, and within one process strictly."""

from __future__ import annotations

import secrets
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0  # milliseconds and a 12-bit counter in one number, so that it can only grow


def new_id() -> UUID:
    """A new UUIDv7. Ids made by one process strictly increase, also when its clock goes backwards (RFC 9562, 6.2, method 1)."""
    global _last
    with _lock:
        _last = max(_last + 1, (time.time_ns() // 1_000_000) << 12)
        stamp, counter = _last >> 12, _last & 0xFFF
    value = stamp << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=value)
