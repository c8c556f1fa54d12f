"""Episodes that say something in every field, and where it is found afterwards."""

from __future__ import annotations

import json
from typing import Any

from infinicon.domain import ActorRef, IngestEpisode, Json
from infinicon.operations import secrets
from infinicon.operations.redaction import marker
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


def add(pipeline: Pipeline, value: str) -> str:
    """The marker that stands for the secret from now on."""
    made = secrets.add_secret(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, value)
    return marker(str(made.id))


def found_in(pipeline: Pipeline, sql: Sql, needle: str) -> set[str]:
    """Every column of every table of the tenant that holds the text."""
    columns = sql(
        """SELECT c.table_name, c.column_name FROM information_schema.columns c
           JOIN information_schema.tables t USING (table_schema, table_name)
           WHERE c.table_schema = 'infinicon' AND t.table_type = 'BASE TABLE' AND c.data_type IN ('text', 'jsonb', 'ARRAY', 'bytea')
             AND EXISTS (SELECT FROM information_schema.columns k
                         WHERE k.table_schema = 'infinicon' AND k.table_name = c.table_name AND k.column_name = 'tenant')"""
    )
    escaped = json.dumps(needle)[1:-1]
    places = set()
    for table, column in columns:
        statement: Any = f"""SELECT count(*) FROM "{table}" WHERE tenant = %s AND (
            position(%s in "{column}"::text) > 0 OR position(%s in "{column}"::text) > 0 OR position(%s in "{column}"::text) > 0)"""
        if sql(statement, pipeline.caller.tenant, needle, escaped, needle.encode().hex()) != [(0,)]:
            places.add(f"{table}.{column}")
    return places


def memories(pipeline: Pipeline, sql: Sql, column: str, kind: str = "episode") -> list[Any]:
    statement: Any = f"SELECT {column} FROM memories WHERE tenant = %s AND type = %s ORDER BY id"
    return [row[0] for row in sql(statement, pipeline.caller.tenant, kind)]


def everywhere(value: str) -> IngestEpisode:
    """The text in every field that an episode has."""
    content: Json = {"role": "user", "content": f"It is {value}, I said.", f"key {value}": [value, {value: value}]}
    return IngestEpisode(
        f'application/json; note="{value}"',
        content,
        created_by=ActorRef(f"ada {value}", "user"),
        dedupe_key=f"key-{value}",
        metadata={f"name {value}": [value, {"deep": value}], "speaker": f"Bob {value}"},
        tags=[value, f"a {value} b"],
    )


def spoken(value: str) -> IngestEpisode:
    """A text that says it, and whose speaker is called so."""
    return IngestEpisode("text/plain", f"The code is {value}. So it is.", metadata={"speaker": f"Bob {value}"})
