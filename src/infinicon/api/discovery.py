"""What is advertised: looked at once a second at most, since nobody needs a key to ask."""

from __future__ import annotations

from collections.abc import Callable

from infinicon.api.readiness import Readiness
from infinicon.api.wire.discovery import Advertised


class Discovery:
    """Runs `look` as Readiness does, and keeps what it found. Where it raises, or takes too long, nothing is advertised."""

    def __init__(self, look: Callable[[], Advertised]) -> None:
        self._look = look
        self._found: Advertised | None = None
        self._looking = Readiness(self._keep)

    async def advertised(self) -> Advertised:
        """Raises what `look` raised, or Unavailable."""
        await self._looking.check()
        assert self._found is not None  # where the check is good, a look has come back
        return self._found

    def _keep(self) -> None:
        self._found = self._look()
