"""Entries under a token budget, secrets that are redacted, and consolidation."""

from __future__ import annotations

from importlib.resources import files

from alembic import op

from infinicon.store.database import raw

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    folder = files("infinicon.store.migrations").joinpath("sql", revision)
    for part in sorted(folder.iterdir(), key=lambda file: file.name):
        # The driver's own connection takes several statements at once and leaves percent signs alone.
        raw(op.get_bind()).execute(part.read_bytes())


def downgrade() -> None:
    raise NotImplementedError("migrations only go forward: restore a backup to go back")
