"""The Celery application. Importing it reads no settings and opens nothing; `configure` does, in the process that runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery import Celery
from kombu.entity import Queue

from infinicon.settings import Settings
from infinicon.tasks import names
from infinicon.tasks.schedule import schedule

CONNECT_SECONDS = 2.0
SILENCE_SECONDS = 3
"""How long a publication waits for a broker that is connected and says nothing, because it hangs or has run out of memory."""
AMQP_WAITS = 3
"""An AMQP publication that gets no answer waits so often: for the confirmation, and then for its channel and its connection to close."""


BEAT_TRIES_AGAIN: Mapping[str, object] = {
    "retry": True,
    "retry_policy": {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0},
}
"""Beat keeps one connection for ever. Over AMQP only a second try makes a new one: without it beat stayed silent after a restart of
RabbitMQ until it was restarted itself."""


class Defaults:
    """What does not depend on the installation."""

    accept_content = ("json",)
    task_serializer = "json"
    result_serializer = "json"
    enable_utc = True
    timezone = "UTC"
    imports = ("infinicon.tasks.handlers",)

    task_queues = tuple(Queue(name) for name in names.QUEUES)
    task_default_queue = names.CONTROL
    task_create_missing_queues = False

    # A message is acknowledged when it is taken: what it asks for is a lease in Postgres, and a lease that runs out is found there.
    # Late acknowledgement would add a second, weaker truth (visibility timeouts, consumer timeouts).
    task_acks_late = False
    worker_prefetch_multiplier = 1
    worker_cancel_long_running_tasks_on_connection_loss = False

    result_backend = "infinicon.tasks.results:ResultBackend"
    task_track_started = True
    task_store_errors_even_if_ignored = False
    result_expires = None

    # What Flower shows. Messages carry ids only, so events do too. That a message was sent is no event: the switch is one for all tasks,
    # and the routine ones would drown the stages.
    worker_send_task_events = True
    task_send_sent_event = False
    event_queue_expires = 60.0
    event_queue_ttl = 10.0

    # A publication that fails is repeated from Postgres; nobody waits for it.
    task_publish_retry = False
    broker_connection_timeout = CONNECT_SECONDS
    broker_connection_retry_on_startup = True
    broker_connection_max_retries = None
    worker_hijack_root_logger = False
    worker_redirect_stdouts = False


app = Celery("infinicon")
app.config_from_object(Defaults)


def configure(settings: Settings) -> Celery:
    """Connect the application to this installation's broker.

    Raises:
        SettingsError: no broker is set.
    """
    settings.need("broker_url")
    url = settings.broker_url.get_secret_value()
    options: dict[str, Any] = {}
    if url.startswith(("redis", "rediss")):
        options = {
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": SILENCE_SECONDS,
            "socket_keepalive": True,
            "health_check_interval": 10,
        }
        if url.startswith("redis+socket"):
            del options["socket_keepalive"]
    elif url.startswith("amqp"):
        wait = SILENCE_SECONDS // AMQP_WAITS
        options = {"confirm_publish": True, "read_timeout": wait, "write_timeout": wait}
    app.conf.update(
        broker_url=url,
        broker_transport_options=options,
        beat_schedule={
            name: {
                "task": entry.task,
                "schedule": entry.period,
                "options": {
                    "expires": entry.expires,
                    "queue": names.CONTROL,
                    "ignore_result": True,
                    **BEAT_TRIES_AGAIN,
                },
            }
            for name, entry in schedule(settings).items()
        },
    )
    return app
