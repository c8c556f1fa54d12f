"""Query parameters of a GET: a scope, a page. They are strings, and read by the same rules as bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping

from infinicon import domain
from infinicon.api.wire.shared import Name, Scope, scope_of
from infinicon.api.wire.validate import Body, check, refused

SCOPE = ("tenantId", "namespaceId", "agentId", "sessionId")
WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
LONGEST_CURSOR = 1024


class Tenant(Body):
    tenant_id: Name


def tenant(parameters: Mapping[str, str]) -> str:
    """The tenant. Raises InvalidRequest."""
    return check(Tenant, _picked(parameters, ("tenantId",)), "parameters").tenant_id


def scope(parameters: Mapping[str, str]) -> domain.Scope:
    """The scope. Raises InvalidRequest."""
    if "filters" in parameters:
        raise refused("filters", "is not taken as a query parameter")
    return scope_of(check(Scope, _picked(parameters, SCOPE), "parameters"))


def limit(parameters: Mapping[str, str], *, usual: int, most: int) -> int:
    """How many a page may have, from 1 to `most`. Raises InvalidRequest."""
    sent = parameters.get("limit")
    if sent is None:
        return usual
    if not WHOLE_NUMBER.fullmatch(sent) or not 1 <= int(sent) <= most:
        raise refused("limit", f"must be a whole number from 1 to {most}")
    return int(sent)


def cursor(parameters: Mapping[str, str]) -> str | None:
    """The cursor as it was sent, where there is one; an overlong one is cut, which makes it as invalid as it was."""
    sent = parameters.get("cursor")
    return None if sent is None else sent[: LONGEST_CURSOR + 1]


def _picked(parameters: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: parameters[name] for name in names if name in parameters}
