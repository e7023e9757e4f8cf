"""The one way to declare a Celery task."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import shared_task
from django.db import InterfaceError, OperationalError

from plumbing import outbox
from plumbing.rowsec import system_scope

# Task name -> queue; the app's router (config/celery.py) reads it.
QUEUE_OF: dict[str, str] = {}
DEFAULTS: dict[str, Any] = {
    "acks_late": True,
    "reject_on_worker_lost": True,
    "ignore_result": True,
    "autoretry_for": (OperationalError, InterfaceError),
    "retry_backoff": True,
    "retry_backoff_max": 60,
    "retry_jitter": True,
    "max_retries": 60,
}


def task(*, queue: str, hears: str = outbox.EACH, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a task on `queue`: keywords only, in the system scope, acknowledged when done, retried with back-off.

    `hears` says how events are told: EACH, a call with the fields of each; TOGETHER, one call for many with `events`,
    a list of their fields; ONCE, one call for many without a word of them, and none while one waits to begin: for a
    task that looks for what there is to do by itself.

    A worker that dies hands its task to another, so tasks are idempotent. `options` go to Celery. A lost database
    (OperationalError, InterfaceError) is retried for about an hour; other errors are logged and not retried, since a
    reconciler will come by.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if args:
                raise TypeError(f"{function.__qualname__} takes keywords only")
            if hears == outbox.ONCE:
                outbox.begin(name)
            with system_scope():
                return function(**kwargs)

        name = f"{function.__module__}.{function.__name__}"
        QUEUE_OF[name] = queue
        declare: Callable[..., Any] = shared_task(name=name, **{**DEFAULTS, "hears": hears, **options})
        return declare(run)

    return decorate
