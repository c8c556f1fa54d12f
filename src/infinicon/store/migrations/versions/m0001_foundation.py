"""The foundation: roles, tables, row-level security.

Every key starts with the tenant, so that the tables can be distributed by tenant unchanged. Names of tenants and namespaces stand
in two tables only; everywhere else they are integers.
"""

from __future__ import annotations

from importlib.resources import files

from alembic import op

from infinicon.store.database import raw

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

PARTS = ("roles", "tenancy", "memories", "pipeline", "spaces", "events", "results", "security")


def upgrade() -> None:
    folder = files("infinicon.store.migrations").joinpath("sql", "0001")
    for part in PARTS:
        # The driver's own connection takes several statements at once and leaves percent signs alone.
        raw(op.get_bind()).execute(folder.joinpath(f"{part}.sql").read_bytes())


def downgrade() -> None:
    raise NotImplementedError("the first migration is not undone: drop the schemas infinicon and celery instead")
