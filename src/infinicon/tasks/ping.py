"""Which workers answer on a broker."""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import OperationalError


def answering(broker_url: str, *, timeout: float = 0.5, node: str | None = None) -> frozenset[str]:
    """Node names of the workers that consume now, as far as they answer within `timeout` seconds; only `node` is asked if given."""
    # No result backend, and not the application of the tasks: a ping needs neither settings nor handlers.
    with Celery(broker=broker_url, set_as_current=False) as app:
        app.conf.broker_transport_options = {"socket_connect_timeout": 2, "socket_timeout": 2}
        try:
            replies = app.control.ping(timeout=timeout, destination=None if node is None else [node])
        except (OperationalError, OSError, *app.connection_for_write().connection_errors):
            # Kombu turns the driver's errors into its own where a task is sent, and not where workers are asked.
            return frozenset()
    return frozenset(name for reply in replies or () for name in reply)


def reachable(broker_url: str) -> bool:
    """Whether the broker takes a connection within two seconds."""
    with Celery(broker=broker_url, set_as_current=False) as app:
        app.conf.broker_transport_options = {"socket_connect_timeout": 2, "socket_timeout": 2}
        try:
            with app.connection_for_write(connect_timeout=2) as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
        except (OperationalError, OSError):
            return False
    return True
