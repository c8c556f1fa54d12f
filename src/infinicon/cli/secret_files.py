"""`infinicon secrets`: the secrets of an installation as files, in the forms that servers and processes read."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from infinicon.cli.faults import CommandFailed, WrongUsage
from infinicon.cli.output import note, show_json
from infinicon.embedded.files import write_new
from infinicon.store.ownership import APP, RESULTS, SWEEPER

OWNER = "infinicon_owner"
DATABASE = "infinicon"
SCRAM_ROUNDS = 4096  # what Postgres takes by default; the passwords have 256 random bits of their own

CONTAINER_USER = 1000  # as docker-compose.yml and the Dockerfiles say

POSTGRES_INIT = """\
-- Read once, by the superuser, when the database server has no data yet. It holds no password, only the verifier of the owner's.
CREATE ROLE {owner} LOGIN CREATEROLE NOINHERIT PASSWORD '{verifier}';
CREATE DATABASE {database} OWNER {owner};
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
REVOKE ALL ON DATABASE postgres FROM PUBLIC;
\\connect {database}
CREATE EXTENSION vector;
"""

GROUPS: tuple[tuple[str, ...], ...] = (
    ("owner_database_url", "postgres_init.sql"),
    ("broker_url", "valkey.conf"),
    ("database_url",),
    ("sweeper_database_url",),
    ("results_database_url",),
    ("master_key",),
    ("flower_password",),
    ("postgres_password",),
)
"""Files that hold the same secret in two forms are made together."""


def run(folder: Path, *, database: str, broker: str, as_json: bool) -> None:
    """Write what is missing.

    Raises:
        CommandFailed: one of two files that belong together is there without the other, or the folder cannot be written.
        WrongUsage: a host that is none.
    """
    for host in (database, broker):
        if not host.strip() or any(character in host for character in "/@?# "):
            raise WrongUsage("that is no host", "give HOST or HOST:PORT, for example db.example.org:5432")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = [name for group in GROUPS for name in _make(folder, group, database, broker)]
    except OSError as fault:
        raise CommandFailed(f"{folder} cannot be written: {fault.strerror}") from None
    if as_json:
        show_json({"folder": str(folder), "made": made})
        return
    note(f"made in {folder}: {', '.join(made)}" if made else f"nothing is missing in {folder}")
    note("keep master_key with every backup: what is derived from it cannot be made again without it")
    _tell_of_containers(folder)


def _make(folder: Path, group: Sequence[str], database: str, broker: str) -> list[str]:
    """The names of the files that were made: the whole group, or none of it."""
    there = [name for name in group if (folder / name).exists()]
    if len(there) == len(group):
        return []
    if there:
        missing = ", ".join(name for name in group if name not in there)
        raise CommandFailed(
            f"{folder / there[0]} is there, and {missing}, which belongs to it, is not",
            "bring it back from a backup; or remove both, and set the new password on the server yourself",
        )
    for name, text in _contents(group[0], database, broker).items():
        write_new(folder / name, text)
    return list(group)


def _tell_of_containers(folder: Path) -> None:
    """Docker Compose shows containers the files as they are: who does not own them cannot read them."""
    if os.getuid() == 0:
        note(
            f"docker compose runs its services as user {CONTAINER_USER}: chown -R {CONTAINER_USER}:{CONTAINER_USER} {folder}"
        )
    elif os.getuid() != CONTAINER_USER:
        note(
            f"docker compose has to know that they are yours: INFINICON_UID={os.getuid()} and INFINICON_GID={os.getgid()} in .env"
        )


def _contents(first: str, database: str, broker: str) -> Mapping[str, str]:
    """A group's files by name; each ends with a line end, which is not part of the secret."""
    password = secrets.token_urlsafe(32)
    roles = {
        "owner_database_url": OWNER,
        "database_url": APP,
        "sweeper_database_url": SWEEPER,
        "results_database_url": RESULTS,
    }
    if first in roles:
        files = {first: f"postgresql://{roles[first]}:{password}@{database}/{DATABASE}\n"}
        if first == "owner_database_url":
            files["postgres_init.sql"] = POSTGRES_INIT.format(
                owner=OWNER, database=DATABASE, verifier=scram_verifier(password, secrets.token_bytes(16))
            )
        return files
    if first == "broker_url":
        return {first: f"redis://:{password}@{broker}/0\n", "valkey.conf": f"requirepass {password}\n"}
    return {first: password + "\n"}


def scram_verifier(password: str, salt: bytes, rounds: int = SCRAM_ROUNDS) -> str:
    """What Postgres keeps of a password (RFC 5803), for one of ASCII letters, which need no SASLprep."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, rounds)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(rounds, *parts)
