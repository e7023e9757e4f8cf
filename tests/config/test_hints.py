"""A task that is asked for once may lose its claim with a worker or a broker: a beat comes by all the same."""

from __future__ import annotations

from config.celery import app
from config.schedule import BEAT
from plumbing.outbox import ONCE

# Its work is found again by another one of the beat.
SEEN_TO = {"marketplace.tasks.fail_over": "marketplace.tasks.reconcile_reservations"}


def test_whatever_is_asked_for_once_comes_by_the_beat_too() -> None:
    app.loader.import_default_modules()
    beaten = {entry["task"] for entry in BEAT.values()}
    asked_once = {name for name, task in app.tasks.items() if getattr(task, "hears", "") == ONCE}
    assert len(asked_once) > 5
    assert {SEEN_TO.get(name, name) for name in asked_once} <= beaten
