"""The boundary to plug-ins: whatever one raises becomes a clear error of ours. One of two files that may catch everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from infinicon.domain import Stage
from infinicon.errors import InfiniconError, PluginFailed

P = ParamSpec("P")
T = TypeVar("T")


def guarded(stage: Stage, plugin: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a plug-in.

    Raises:
        InfiniconError: as the plug-in raised it.
        PluginFailed: for anything else, with the type of the exception and not its text, which may quote what a user wrote.
    """
    try:
        return call(*args, **kwargs)
    except InfiniconError:
        raise
    except Exception as fault:  # noqa: BLE001 -- a plug-in may raise anything at all, and its batch must go on
        message = f"the plug-in {plugin} raised {type(fault).__name__}"
        raise PluginFailed(message, details={"stage": stage.value, "exception": type(fault).__name__}) from None
