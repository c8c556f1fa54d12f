"""The Celery application. Importing it reads no settings and opens nothing; `configure` does, in the process that runs."""

from __future__ import annotations

from typing import Any, ClassVar

from celery import Celery
from kombu.entity import Queue

from infinicon.settings import Settings
from infinicon.tasks import names
from infinicon.tasks.schedule import schedule

CONNECT_SECONDS = 2.0
SILENCE_SECONDS = 1
"""How long a broker that is connected may say nothing, because it hangs or has run out of memory, while somebody waits for its answer. A
publication waits up to five times: twice for the answer, in between for connections to open and to close."""


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

    # A publication that fails is repeated from Postgres; nobody waits for it. But it gets a second try at once: connections are kept, and
    # over AMQP one that a restart of the broker has cut is seen, and replaced, only by a publication that fails on it.
    task_publish_retry = True
    task_publish_retry_policy: ClassVar[dict[str, int]] = {
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "interval_max": 0,
    }
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
        options = {"confirm_publish": True, "read_timeout": SILENCE_SECONDS, "write_timeout": SILENCE_SECONDS}
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
                },
            }
            for name, entry in schedule(settings).items()
        },
    )
    return app
