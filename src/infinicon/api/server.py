"""The API process: one event loop, loopback unless the settings say otherwise, gone within five seconds of a signal."""

from __future__ import annotations

import logging
import os
import signal
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from infinicon import runtime
from infinicon.api import logs
from infinicon.api.app import create_app
from infinicon.api.entry import House
from infinicon.api.protocol import Protocol
from infinicon.settings import Settings
from infinicon.tasks.enqueue import Dispatcher

GRACE_SECONDS = 3


class Server(uvicorn.Server):
    """A server that sends waiting requests home, and lets event streams say their last word, before it waits for the others."""

    def __init__(self, config: uvicorn.Config, house: House) -> None:
        super().__init__(config)
        self._house = house

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._house.waiting.close()
        self._house.streams.close()
        await super().shutdown(sockets)


def serve(app: FastAPI, settings: Settings) -> None:
    """Serve until a signal comes. Access is not logged: paths and query parameters hold names of tenants and namespaces."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    house = app.state.house
    assert isinstance(house, House)
    Server(config, house).run()


def run(settings: Settings) -> None:
    """The process behind `infinicon api`: ends with status 0 when it was told to stop."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        # All answers are given. Taking the interpreter apart, or waiting for a thread that waits for Postgres, would help nobody.
        logging.shutdown()
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)  # uvicorn takes them over, and raises them again when it has stopped
    logs.configure(settings.log_level)
    own = runtime.runtime()
    for part in (own.database, own.sweeper, own.keyring, own.extractor, own.embedder):
        assert (
            part is not None
        )  # built here, so that a setting that is missing stops the process and not the first request
    serve(create_app(own, Dispatcher(own)), settings)
