"""The database of a running Infinicon as its superuser: for baselines in plain tables, and for what no API tells."""

from __future__ import annotations

from typing import Any

import psycopg

from infinicon.cli.instance import Instance
from infinicon.embedded.postgres import DATABASE, Postgres
from infinicon.embedded.secrets import load_or_create
from infinicon.keyring import new_api_key


def connect(instance: Instance) -> psycopg.Connection[tuple[Any, ...]]:
    secrets = load_or_create(instance.data_dir, new_api_key=new_api_key, has_data=True)
    sockets = (instance.data_dir / "run").resolve()
    server = Postgres(instance.data_dir, sockets, None, secrets.superuser_password)
    return psycopg.connect(server.superuser_url(DATABASE))
