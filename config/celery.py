"""The Celery app, the outbox's tasks and its nudge."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from celery import Celery
from celery.signals import task_postrun
from kombu import Queue
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from config.schedule import BEAT

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

QUEUES = ("default", "allocator", "market", "billing")
QUIET_S = 5
DRAIN = "config.tasks.drain_outbox"


def route(name: str, *unused: Any, **options: Any) -> dict[str, str] | None:  # noqa: ARG001 - Celery's signature
    """The queue that the task was declared with."""
    from plumbing.tasks import QUEUE_OF  # needs settings, which are not there yet when this module loads

    return {"queue": QUEUE_OF[name]} if name in QUEUE_OF else None


app = Celery("vxpu")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_default_queue = "default"
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.task_routes = (route,)
app.conf.beat_schedule = BEAT
app.autodiscover_tasks(["plumbing", "identity", "allocator", "billing", "marketplace", "config"])


@task_postrun.connect
def hand_back(**unused: Any) -> None:  # noqa: ARG001 - Celery's signature
    """A worker's connection goes back to its pool after each task; a broken one is replaced there."""
    from django.db import close_old_connections

    close_old_connections()


_quiet_until = 0.0


def nudge_outbox() -> None:
    """Ask for a drain right after a commit, unless one is asked for that has not begun: it will see this commit too.

    If the broker is away the beat does it: the row is safe. After a failure this process does not try again for some
    seconds, so that requests do not wait for a dead broker.
    """
    global _quiet_until  # noqa: PLW0603 - one circuit breaker a process
    if time.monotonic() < _quiet_until:
        return
    from plumbing import outbox  # needs settings, as above

    try:
        if outbox.claim(DRAIN, for_ms=outbox.DRAIN_CLAIM_MS):
            app.send_task(DRAIN, queue="default", retry=False, ignore_result=True)
    except (BrokerError, RedisError, OSError):
        _quiet_until = time.monotonic() + QUIET_S
        log.warning("The broker is away; the outbox waits for the beat", exc_info=True)
