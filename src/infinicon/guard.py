"""The boundary to plug-ins: whatever they raise becomes an InfiniconError without its text.

One of the two places that may catch everything. The text of a foreign exception may hold what a caller wrote, and its
arguments need not survive serialisation: type and stage are kept, the rest is dropped, the exception's context included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from infinicon.errors import InfiniconError, PluginFailed

P = ParamSpec("P")
T = TypeVar("T")


def guarded(stage: str, plugin: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call into a plug-in.

    Raises:
        InfiniconError: as the plug-in raised it.
        PluginFailed: it raised anything else; names the type, the plug-in and the stage.
    """
    fault: PluginFailed
    try:
        return call(*args, **kwargs)
    except InfiniconError:
        raise
    except Exception as raised:  # noqa: BLE001 - the plug-in boundary: see the docstring of this module
        kind = type(raised).__name__[:100]
        fault = PluginFailed(
            f"the plug-in {plugin} raised {kind} in the stage {stage}",
            details={"plugin": plugin, "stage": stage, "type": kind},
        )
    # Raised outside the except block, so that the foreign exception is not its __context__ and is not printed with it.
    raise fault
