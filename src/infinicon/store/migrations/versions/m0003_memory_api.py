"""The whole Memory API v0: tombstones, contexts, pages, corrections, policies."""

from __future__ import annotations

from importlib.resources import files

from alembic import op

from infinicon.store.database import raw

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    folder = files("infinicon.store.migrations").joinpath("sql", revision)
    for part in sorted(folder.iterdir(), key=lambda file: file.name):
        # The driver's own connection takes several statements at once and leaves percent signs alone.
        raw(op.get_bind()).execute(part.read_bytes())


def downgrade() -> None:
    raise NotImplementedError("migrations only go forward: restore a backup to go back")
