"""What the beat runs, and how often (seconds). Events are hints; these reconcilers are the truth."""

from __future__ import annotations

from typing import Any


def every(seconds: float, task: str, queue: str) -> dict[str, Any]:
    """An entry that is dropped rather than piled up when no worker takes it in time."""
    return {"task": task, "schedule": seconds, "options": {"queue": queue, "expires": max(seconds * 2, 2)}}


BEAT: dict[str, dict[str, Any]] = {
    "drain-outbox": every(1, "config.tasks.drain_outbox", "default"),
    "purge-idempotency-keys": every(3600, "config.tasks.purge_idempotency_keys", "default"),
    "rate-dirty": every(2, "marketplace.tasks.rate_dirty", "market"),
    "reconcile-reservations": every(10, "marketplace.tasks.reconcile_reservations", "market"),
    "place-queued": every(10, "marketplace.tasks.place_queued", "market"),
    "offer-earlier-starts": every(15, "marketplace.tasks.offer_earlier_starts", "market"),
}
