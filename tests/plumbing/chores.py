"""An event, its task and their subscription, for tests with a real worker."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import OperationalError

from plumbing import db, outbox
from plumbing.models import OutboxEvent
from plumbing.tasks import task

TENANT = UUID(int=9)


@dataclass(frozen=True)
class Asked:
    tenant_id: UUID
    word: str


def note(text: str) -> None:
    OutboxEvent.objects.create(tenant_id=TENANT, kind=text, payload={})


@task(queue="default")
def answer(*, tenant_id: str, word: str) -> None:
    """Notes what it does in the one table that plumbing's tests have; words other than `note` go wrong once."""
    if word != "note" and not OutboxEvent.objects.filter(kind=f"tried: {word}").exists():
        note(f"tried: {word}")
        if word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OperationalError("server closed the connection unexpectedly")
    note(f"done: {word}")


@db.transaction
def ask(word: str) -> None:
    outbox.publish(Asked(tenant_id=TENANT, word=word))


SUBSCRIPTIONS: dict[type[Any], list[Any]] = {Asked: [answer]}
