"""The Celery app, the outbox's tasks and its nudge."""

from __future__ import annotations

import logging
import os

from celery import Celery
from kombu import Queue
from kombu.exceptions import OperationalError as BrokerError

from config.schedule import BEAT

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

QUEUES = ("default", "allocator", "market", "billing")
DRAIN = "config.tasks.drain_outbox"

app = Celery("vxpu")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_default_queue = "default"
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.beat_schedule = BEAT
app.autodiscover_tasks(["plumbing", "identity", "allocator", "billing", "marketplace", "config"])


def nudge_outbox() -> None:
    """Ask for a drain right after a commit. If the broker is away the beat does it: the row is safe."""
    try:
        app.send_task(DRAIN, queue="default", retry=False, ignore_result=True)
    except (BrokerError, OSError):
        log.warning("The broker is away; the outbox waits for the beat", exc_info=True)
