"""The outbox: an event is a row in its cause's transaction, handed to Celery after the commit, at least once.

Events are hints: a task may get one twice or, after the loss of the broker's data, never. Reconcilers are the truth.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils.module_loading import import_string

from plumbing.db import transaction_required
from plumbing.live.valkey import VALKEY_AWAY, valkey
from plumbing.models import OutboxEvent

log = logging.getLogger(__name__)

_STORE = """
INSERT INTO plumbing_outboxevent (id, tenant_id, created_at, kind, payload)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::text[], %s::jsonb[])
"""

# A claim of a run that never begins runs out; the beats are quicker.
DRAIN_CLAIM_MS = 2_000
CLAIM_MS = 30_000
# How a task hears of the events of one drain: each by a call of its own, all in one call, or that there were any.
EACH, TOGETHER, ONCE = "each", "together", "once"


class Subscriber(Protocol):
    """A Celery task."""

    name: str

    def apply_async(self, *, kwargs: dict[str, Any]) -> Any: ...


class Event(Protocol):
    """A frozen dataclass in the past tense with the tenant whose news it is."""

    @property
    def tenant_id(self) -> UUID: ...


def kind_of(event_class: type[Any]) -> str:
    """The name under which events of the class are stored: ``"allocator.events.LeaseActivated"``."""
    return f"{event_class.__module__}.{event_class.__qualname__}"


def _json_value(value: object) -> str | int | bool | None:
    if isinstance(value, Enum):
        return _json_value(value.value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"an event cannot carry a {type(value).__name__}")


@transaction_required
def publish(event: Event) -> None:
    """Store `event` with the caller's transaction; its tasks are called with its fields after the commit.

    Raises TypeError for a field that is not str, int, UUID, datetime, enum or None.
    """
    publish_all([event])


@transaction_required
def publish_all(events: Iterable[Event]) -> None:
    """The same for many, in their order, by one statement."""
    rows = [_row_of(event) for event in events]
    if not rows:
        return
    columns: list[list[Any]] = [
        [row.pk for row in rows], [row.tenant_id for row in rows], [row.created_at for row in rows],
        [row.kind for row in rows], [json.dumps(row.payload) for row in rows],
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_STORE, columns)
    if not any(entry[1] is _nudge for entry in connection.run_on_commit):
        transaction.on_commit(_nudge, robust=True)


def _row_of(event: Event) -> OutboxEvent:
    if not dataclasses.is_dataclass(event) or isinstance(event, type):
        raise TypeError(f"{event!r} is not an event")
    payload = {field.name: _json_value(getattr(event, field.name)) for field in dataclasses.fields(event)}
    return OutboxEvent(tenant_id=event.tenant_id, kind=kind_of(type(event)), payload=payload)


def _nudge() -> None:
    nudge: Callable[[], None] = import_string(settings.VXPU_OUTBOX_NUDGE)
    nudge()


def claim(task: str, *, for_ms: int = CLAIM_MS) -> bool:
    """Whether a run of the task, which looks for what there is to do by itself, is to be asked for now: False while
    one is asked for that has not begun. Raises redis.RedisError or OSError when Valkey is away."""
    return bool(valkey().set(_claim_key(task), "1", nx=True, px=for_ms))


def begin(task: str) -> None:
    """What is committed from now on asks for a run of its own. The task's beat makes up for a claim that is lost."""
    with suppress(*VALKEY_AWAY):  # then the claim runs out by itself
        valkey().delete(_claim_key(task))


def _claim_key(task: str) -> str:
    return f"vxpu.outbox.asked:{connection.settings_dict['NAME']}:{task}"


def drain(*, subscribers: Mapping[type[Any], Sequence[Subscriber]], limit: int = 200) -> int:
    """Hand up to `limit` events to their tasks and forget them; returns how many.

    Several workers may drain at once (SKIP LOCKED). If the process dies or the broker refuses between the first call
    and the commit, the rows stay and the tasks get those events again.
    """
    by_kind = {kind_of(event_class): tasks for event_class, tasks in subscribers.items()}
    with transaction.atomic(durable=True):
        rows = list(OutboxEvent.objects.select_for_update(skip_locked=True).order_by("id")[:limit])
        heard: dict[Subscriber, list[dict[str, Any]]] = {}
        for row in rows:
            if row.kind not in by_kind:
                log.error("No entry in the subscriptions for %s; event %s is dropped", row.kind, row.id)
            for task in by_kind.get(row.kind, ()):
                heard.setdefault(task, []).append(row.payload)
        for task, payloads in heard.items():
            _tell(task, payloads)
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _tell(task: Subscriber, payloads: list[dict[str, Any]]) -> None:
    """The calls that a task gets for the events of one drain; see `plumbing.tasks.task`."""
    hears = getattr(task, "hears", EACH)
    if hears == ONCE:
        _ask_once(task)
        return
    for kwargs in payloads if hears == EACH else [{"events": payloads}]:
        task.apply_async(kwargs=kwargs)


def _ask_once(task: Subscriber) -> None:
    if not claim(task.name):
        return
    try:
        task.apply_async(kwargs={})
    except Exception:
        begin(task.name)
        raise
