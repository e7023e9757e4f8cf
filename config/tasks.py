"""Tasks that need the whole wiring."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from plumbing import outbox
from plumbing.api import idempotency
from plumbing.tasks import task


@task(queue="default", hears=outbox.ONCE)
def drain_outbox() -> None:
    """Hand committed events to their tasks, until none is left."""
    subscribers = import_string(settings.VXPU_SUBSCRIPTIONS)
    while outbox.drain(subscribers=subscribers):
        continue


@task(queue="default")
def purge_idempotency_keys() -> None:
    """Forget stored answers after their day."""
    idempotency.purge(now=timezone.now())
