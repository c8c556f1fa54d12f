"""The composition root: builds what a process needs, when it first needs it, and after any fork."""

from __future__ import annotations

import logging
import os
import sys
import threading
from functools import cached_property, partial

from infinicon.domain import Lane
from infinicon.encoder.client import EncoderClient
from infinicon.errors import Unavailable
from infinicon.keyring import Keyring
from infinicon.operations import asking
from infinicon.operations.consolidating import Workshop
from infinicon.operations.counting import Counters
from infinicon.operations.dispatch import LaneLimits
from infinicon.operations.leases import Leases, Work, named
from infinicon.operations.preview import Previews
from infinicon.operations.selecting import Bounds
from infinicon.plugins.coalescing import CoalescingEmbedder
from infinicon.plugins.counters import damaged as damaged_counters
from infinicon.plugins.loader import load_consolidator, load_embedder, load_extractor, load_token_counter
from infinicon.ports import Consolidator, Embedder, Extractor
from infinicon.settings import Settings, child_environment, settings
from infinicon.store.database import Database

log = logging.getLogger(__name__)

OVERRUN_EXIT = 70
"""Exit status of a process that ended itself because a stage ran past its ceiling (sysexits: EX_SOFTWARE)."""


class Runtime:
    """Each part is built at its first use: a process has what it works with, and no more."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def database(self) -> Database:
        """Postgres as the role infinicon_app."""
        self.settings.need("database_url")
        return self._open(self.settings.database_url.get_secret_value(), self.settings.database_pool_size, vectors=True)

    @cached_property
    def sweeper(self) -> Database:
        """Postgres as the role infinicon_sweeper."""
        self.settings.need("sweeper_database_url")
        return self._open(self.settings.sweeper_database_url.get_secret_value(), 2, vectors=False)

    def _open(self, url: str, size: int, *, vectors: bool) -> Database:
        return Database(
            url,
            pool_size=size,
            timeout=self.settings.database_timeout,
            prepared_statements=self.settings.prepared_statements,
            vectors=vectors,
        )

    @cached_property
    def keyring(self) -> Keyring:
        self.settings.need("master_key")
        return Keyring(self.settings.master_key.get_secret_value())

    @cached_property
    def extractor(self) -> Extractor:
        return load_extractor(self.settings)

    @cached_property
    def consolidator(self) -> Consolidator:
        return load_consolidator(self.settings)

    @cached_property
    def counters(self) -> Counters:
        """A vocabulary is read when something is first counted by it."""
        return Counters(partial(load_token_counter, self.settings), self.settings.budget_counter, damaged_counters)

    def check_counters(self) -> None:
        """Raises Unavailable where the vocabulary of a built-in counter is missing or damaged, or the counter of budgets is not there; the
        message names it."""
        damaged = damaged_counters()
        if damaged:
            names = " and ".join(damaged)
            raise Unavailable(f"the vocabulary of {names} is missing or damaged: install infinicon again")
        if self.counters.budget_unit() is None:
            raise Unavailable(
                "the token counter that INFINICON_BUDGET_COUNTER names cannot be used: see `infinicon doctor`"
            )

    @cached_property
    def embedder(self) -> EncoderClient:
        """The encoder process: queries and the interactive lane."""
        self.settings.need("encoder_url")
        return EncoderClient(self.settings.encoder_url, self.keyring.token("encoder"))

    @cached_property
    def bulk_embedder(self) -> Embedder:
        """A model in this process, shared by its threads."""
        return CoalescingEmbedder(load_embedder(self.settings))

    @cached_property
    def leases(self) -> Leases:
        return Leases(
            self.database,
            seconds=self.settings.lease_seconds,
            ceiling=self.settings.stage_ceiling,
            retry_base=self.settings.retry_base,
            on_overrun=end_process,
        )

    @cached_property
    def consolidation_leases(self) -> Leases:
        """Of consolidations, whose plug-in may take longer than a stage."""
        return Leases(
            self.database,
            seconds=self.settings.lease_seconds,
            ceiling=self.settings.consolidation_ceiling,
            retry_base=self.settings.retry_base,
            on_overrun=end_process,
        )

    @property
    def consolidation_bounds(self) -> Bounds:
        return Bounds(self.settings.consolidation_slice, self.settings.consolidation_tokens)

    @property
    def workshop(self) -> Workshop:
        """What a worker that consolidates has."""
        return Workshop(
            self.database,
            self.consolidation_leases,
            self.keyring,
            self.consolidator,
            self.embedder,
            self.counters,
            self.consolidation_bounds,
            self.settings.consolidation_attempts,
        )

    @cached_property
    def previews(self) -> Previews:
        # The plug-in gets no addresses and no secrets of ours: it needs none.
        command = [sys.executable, "-P", "-m", "infinicon.api.proposing"]
        child = asking.Child(command, child_environment({}), self.settings.consolidation_ceiling)
        return Previews(child.ask, self.counters, self.consolidation_bounds)

    def lane_limits(self, lane: Lane) -> LaneLimits:
        chosen = self.settings
        if lane is Lane.BULK:
            return LaneLimits(chosen.bulk_batch_episodes, chosen.bulk_batch_tokens, chosen.bulk_window)
        return LaneLimits(chosen.interactive_batch_episodes, chosen.bulk_batch_tokens, chosen.interactive_window)


def end_process(ref: Work) -> None:
    """A thread that hangs cannot be ended from outside: the process goes, its supervisor starts another, the lease runs out."""
    log.error("%s ran past its ceiling: this process ends, and its supervisor starts another", named(ref))
    logging.shutdown()
    os._exit(OVERRUN_EXIT)


_lock = threading.Lock()
_built: list[Runtime] = []


def runtime() -> Runtime:
    """The runtime of this process, made at the first call."""
    with _lock:
        if not _built:
            _built.append(Runtime(settings()))
        return _built[0]
