"""What `infinicon keys` asks and how it shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import database, find
from infinicon.cli.faults import WrongUsage
from infinicon.cli.output import note, show_json, table, visible

_DATED = re.compile(r"\d{4}-")
_DURATION = re.compile(r"(\d{1,9})([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> int:
    """0, 90s, 10m, 12h, 7d in seconds. Raises WrongUsage."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise WrongUsage(
            "that is no length of time",
            "for example 90s, 10m, 12h or 7d; where a moment is meant, also 2027-01-31T12:00:00Z",
        )
    return int(match[1]) * _SECONDS[match[2]]


def create(
    url: str | None,
    data_dir: Path | None,
    label: str | None,
    permissions: Sequence[str] | None,
    namespaces: Sequence[str] | None,
    expires: str | None,
    *,
    as_json: bool,
) -> None:
    """A key of the caller's tenant."""
    with Client(find(url, data_dir)) as client:
        wanted: Wire = {
            "label": label,
            "permissions": list(permissions or ()) or None,
            "namespaces": list(namespaces or ()) or None,
            "expiresAt": None if expires is None else moment(expires),
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        _made(client.post("/v0/keys", {"tenantId": client.tenant_id, **given}), as_json=as_json)


def found(
    tenant: str,
    label: str | None,
    permissions: Sequence[str] | None,
    namespaces: Sequence[str] | None,
    expires: str | None,
    data_dir: Path | None,
    *,
    as_json: bool,
) -> None:
    """The first key of a tenant, made by the owner of the schema: it may do everything."""
    from infinicon.embedded.bootstrap import owner_url
    from infinicon.keyring import new_api_key
    from infinicon.operations.keys import provision

    if permissions or namespaces or expires:
        raise WrongUsage(
            "the first key of a tenant may do everything",
            "make it, then make narrower keys with it and without --tenant",
        )
    if not tenant.strip() or len(tenant) > 256:
        raise WrongUsage("a tenant's name has 1 to 256 characters and is not blank")
    secret = new_api_key()
    provision(database(data_dir, owner_url, "the database's owner")[0], tenant, secret, label=label or "first key")
    if as_json:
        show_json({"tenantId": tenant, "apiKey": secret})
    else:
        note(f"the first key of tenant {visible(tenant)}; it is kept nowhere, so keep it now:")
        print(secret)


def show(url: str | None, data_dir: Path | None, *, as_json: bool) -> None:
    """All keys of the caller's tenant."""
    with Client(find(url, data_dir)) as client:
        reply = client.get("/v0/keys", {"tenantId": client.tenant_id})
    if as_json:
        show_json(reply)
        return
    rows = [
        (
            key["keyId"],
            _state(key),
            key.get("label", ""),
            ",".join(key["permissions"]) if len(key["permissions"]) < 10 else "all",
            ",".join(key["namespaces"]) if "namespaces" in key else "all",
            key.get("expiresAt", ""),
        )
        for key in reply["keys"]
    ]
    table(("key", "state", "label", "permissions", "namespaces", "expires"), rows)


def _state(key: Wire) -> str:
    if "revokedAt" in key:
        return "revoked"
    expires = key.get("expiresAt")
    return "expired" if expires and datetime.fromisoformat(expires) <= datetime.now(UTC) else "valid"


def rotate(url: str | None, data_dir: Path | None, key: str, overlap: str, *, as_json: bool) -> None:
    """A key's successor."""
    with Client(find(url, data_dir)) as client:
        body = {"tenantId": client.tenant_id, "overlapSeconds": seconds(overlap)}
        _made(client.post(f"/v0/keys/{segment(key)}/rotate", body), as_json=as_json)
    note(f"the old key works for {overlap} more")


def revoke(url: str | None, data_dir: Path | None, key: str, *, as_json: bool) -> None:
    """A key that works no longer."""
    with Client(find(url, data_dir)) as client:
        reply = client.post(f"/v0/keys/{segment(key)}/revoke", {"tenantId": client.tenant_id})
    if as_json:
        show_json(reply)
    else:
        print(f"revoked {reply['key']['keyId']}")


def _made(reply: Wire, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(reply))
        return
    note(f"key {reply['key']['keyId']}; it is kept nowhere, so keep it now:")
    print(reply["apiKey"])


def segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="") or "-"


def moment(text: str) -> str:
    """RFC 3339 as it is; a length of time from now."""
    if _DATED.match(text):
        return text
    return (datetime.now(UTC) + timedelta(seconds=seconds(text))).isoformat().replace("+00:00", "Z")
