"""Carries committed events to their tasks at once, in this process: what broker and worker do in production."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from plumbing import outbox


class _Collector:
    def __init__(self, task: Any, calls: list[Any]) -> None:
        self.task, self.calls = task, calls
        self.hears, self.name = task.hears, task.name

    def apply_async(self, *, kwargs: dict[str, Any]) -> None:
        self.calls.append(partial(self.task, **kwargs))


def deliver(subscriptions: Mapping[type[Any], Sequence[Any]] | None = None, *, rounds: int = 20) -> int:
    """Drain the outbox and run the subscribed tasks until it stays empty; returns the number of task runs.

    Call it in the system scope. Raises RuntimeError if the events never end.
    """
    wanted = import_string(settings.VXPU_SUBSCRIPTIONS) if subscriptions is None else subscriptions
    ran = 0
    for _ in range(rounds):
        calls: list[Any] = []
        subscribers = {event: [_Collector(task, calls) for task in tasks] for event, tasks in wanted.items()}
        if not outbox.drain(subscribers=subscribers):
            return ran
        for call in calls:
            call()
        ran += len(calls)
    raise RuntimeError("events cause events without end")
