"""Alembic's entry: runs the migrations on the connection that `store.migrate` hands over."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="schema_version",
    version_table_schema="infinicon",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
