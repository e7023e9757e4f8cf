"""Tasks: hints from events, and the beat that is the truth. Each loads ids, makes one call, and may be repeated."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone

from marketplace.services import decay, estimate, offer_earlier, queue, quote, rate, reconcile, relocate, scale
from marketplace.services import fail_over as fail_over_all
from marketplace.services import make_room as room
from plumbing.outbox import ONCE, TOGETHER
from plumbing.tasks import task

QUEUE = "market"


@task(queue=QUEUE, hears=TOGETHER)
def reconcile_owners(*, events: list[dict[str, Any]]) -> None:
    """Leases changed, or bookings were made: bring their reservations to where they are, and rate what has ended."""
    owners = {UUID(event["owner"] if "owner" in event else event["reservation_id"]) for event in events}
    reconcile.reconcile_owners(owners=owners, now=timezone.now())


@task(queue=QUEUE)
def spare_victims(*, reservation_id: str, **_: Any) -> None:
    """A reservation ended: who was told to make room for it may stay."""
    reconcile.reconcile_victims(for_id=UUID(reservation_id), now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def rate_dirty() -> None:
    """Usage arrived, or a phase changed: charge the buckets concerned."""
    rate.rate_dirty(now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def place_queued() -> None:
    """Room may have come: give it to who has waited longest."""
    queue.place_queued(now=timezone.now())


@task(queue=QUEUE)
def estimate_queue() -> None:
    """When each wish in line would start."""
    estimate.estimate_queue(now=timezone.now())


@task(queue=QUEUE)
def forget_use() -> None:
    """Count what was held since the last time, and forget by halves: what fair share goes by."""
    decay.bring_up(now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def offer_earlier_starts() -> None:
    """Room may have come before someone's booked start: offer it."""
    offer_earlier.offer_earlier(now=timezone.now())


@task(queue=QUEUE)
def reconcile_reservations() -> None:
    """The truth, whatever events were lost."""
    reconcile.reconcile(now=timezone.now())


@task(queue="allocator")
def watch_nodes() -> None:
    """Every two seconds: nodes that have fallen silent; what they ran is placed anew at once."""
    fail_over_all.watch(now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def fail_over() -> None:
    """Leases were given up: whoever has not got another place yet."""
    fail_over_all.fail_over(now=timezone.now())


@task(queue=QUEUE)
def apply_scale_rules() -> None:
    """Reservations with rules get the size of now."""
    scale.apply_rules(now=timezone.now())


@task(queue=QUEUE)
def purge_quotes() -> None:
    """Forget quotes whose time is long over."""
    quote.purge(now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def switch_moves() -> None:
    """Every two seconds, and when one is ready: reservations whose new slice is ready take it."""
    relocate.switch_ready(now=timezone.now())


@task(queue=QUEUE, hears=ONCE)
def make_room() -> None:
    """Every ten seconds, and when room is there: wishes that wait are given it, or it is begun for them."""
    room.make_room(now=timezone.now())
