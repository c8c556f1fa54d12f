"""What `infinicon migrate` does, and how it tells of it: notes on standard error, the first key on standard output."""

from __future__ import annotations

from infinicon.cli.client import Wire
from infinicon.cli.faults import WrongUsage
from infinicon.cli.output import note, show_json
from infinicon.keyring import Keyring
from infinicon.operations.keys import first_key
from infinicon.operations.runs import make_other_tenant
from infinicon.settings import PREFIX, Settings, settings
from infinicon.store.logins import Login, give_logins
from infinicon.store.migrate import HEAD, migrate
from infinicon.store.ownership import APP, RESULTS, SWEEPER

URLS = {"database_url": APP, "sweeper_database_url": SWEEPER, "results_database_url": RESULTS}
"""The settings by which processes come to the database, and the role of each."""


def run(tenant: str | None, *, quiet: bool, as_json: bool) -> None:
    """The schema, then logins, then the tenant.

    Raises:
        MissingDependency, Unavailable: see store.migrate and store.logins.
    """
    if tenant is not None and (not tenant.strip() or len(tenant) > 256):
        raise WrongUsage("a tenant's name has 1 to 256 characters and is not blank")
    chosen = settings()
    chosen.need("owner_database_url")
    owner_url = chosen.owner_database_url.get_secret_value()
    tell = (lambda _: None) if quiet else note

    migrate(owner_url)
    tell(f"the schema is at {HEAD}")
    logins = wanted_logins(chosen)
    give_logins(owner_url, logins)
    for login in logins:
        tell(f"{login.variable} gets in, as {login.role}")
    if chosen.conformance:
        chosen.need("master_key")
        make_other_tenant(owner_url, Keyring(chosen.master_key.get_secret_value()))
        tell("the other tenant of conformance runs is there")
    wire: Wire = {"schema": HEAD, "logins": [login.role for login in logins]}
    if tenant is not None:
        key = first_key(owner_url, tenant)
        if key is None:
            tell("the tenant has a key already: `infinicon keys create` makes more")
        else:
            wire["apiKey"] = key
            tell("the tenant's first key; it is kept nowhere, so keep it now:")
            if not as_json:
                print(key)
    if as_json:
        show_json(wire)


def wanted_logins(chosen: Settings) -> list[Login]:
    """Of the URLs that are set."""
    urls = {name: getattr(chosen, name).get_secret_value() for name in URLS}
    return [Login(role, PREFIX + name.upper(), urls[name]) for name, role in URLS.items() if urls[name]]
