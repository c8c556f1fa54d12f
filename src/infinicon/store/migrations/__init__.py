"""Alembic migrations. They run as the owner's role, each in one transaction, and work with the previous release."""
