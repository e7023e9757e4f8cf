"""What the beat runs, and how often (seconds). Events are hints; these reconcilers are the truth."""

from __future__ import annotations

from typing import Any


def every(seconds: float, task: str, queue: str) -> dict[str, Any]:
    """An entry that is dropped rather than piled up when no worker takes it in time."""
    return {"task": task, "schedule": seconds, "options": {"queue": queue, "expires": max(seconds * 2, 2)}}


BEAT: dict[str, dict[str, Any]] = {
    "drain-outbox": every(1, "config.tasks.drain_outbox", "default"),
    "purge-idempotency-keys": every(3600, "config.tasks.purge_idempotency_keys", "default"),
    "start-due": every(1, "allocator.tasks.start_due", "allocator"),
    "watch-nodes": every(2, "marketplace.tasks.watch_nodes", "allocator"),
    "settle-drains": every(2, "allocator.tasks.settle_drains", "allocator"),
    "run-moves": every(1, "allocator.tasks.run_moves", "allocator"),
    "consolidate": every(300, "allocator.tasks.consolidate", "allocator"),
    "expire-holds": every(5, "allocator.tasks.expire_holds", "allocator"),
    "run-simulations": every(5, "allocator.tasks.run_simulations", "default"),
    "prepare-partitions": every(3600, "allocator.tasks.prepare_partitions", "allocator"),
    "sweep-capacity": every(3600, "allocator.tasks.sweep", "allocator"),
    "switch-moves": every(2, "marketplace.tasks.switch_moves", "market"),
    "make-room": every(10, "marketplace.tasks.make_room", "market"),
    "learn": every(3600, "allocator.tasks.learn", "allocator"),
    "forget-changes": every(600, "allocator.tasks.forget_changes", "allocator"),
    "rate-dirty": every(2, "marketplace.tasks.rate_dirty", "market"),
    "reconcile-reservations": every(10, "marketplace.tasks.reconcile_reservations", "market"),
    "place-queued": every(10, "marketplace.tasks.place_queued", "market"),
    "estimate-queue": every(20, "marketplace.tasks.estimate_queue", "market"),
    "forget-use": every(60, "marketplace.tasks.forget_use", "market"),
    "offer-earlier-starts": every(15, "marketplace.tasks.offer_earlier_starts", "market"),
    "apply-scale-rules": every(15, "marketplace.tasks.apply_scale_rules", "market"),
    "purge-quotes": every(3600, "marketplace.tasks.purge_quotes", "market"),
    "close-due-periods": every(300, "billing.tasks.close_due_periods", "billing"),
}
