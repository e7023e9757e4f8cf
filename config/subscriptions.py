"""Which tasks hear of which event. One that nobody wants is listed with an empty list: no accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allocator.events import (
    CapacityFreed,
    LeaseActivated,
    LeaseEnded,
    LeaseLost,
    LeaseRecovered,
    LeaseResized,
    LeaseUnreachable,
    UsageArrived,
)
from marketplace import tasks as market
from marketplace.events import EarlierStartOffered, ReservationConfirmed, ReservationEnded, ReservationQueued

SUBSCRIPTIONS: dict[type[Any], Sequence[Any]] = {
    CapacityFreed: [market.place_queued, market.offer_earlier_starts],
    LeaseActivated: [market.reconcile_owner],
    LeaseEnded: [market.reconcile_owner],
    LeaseLost: [market.reconcile_owner],
    # A phase changed: the bucket is dirty already, and no state of the reservation changes.
    LeaseRecovered: [market.rate_dirty],
    LeaseResized: [market.rate_dirty],
    LeaseUnreachable: [market.rate_dirty],
    UsageArrived: [market.rate_dirty],
    ReservationConfirmed: [market.reconcile_reservation],
    ReservationQueued: [market.place_queued],
    # Notices and webhooks will listen to these.
    ReservationEnded: [],
    EarlierStartOffered: [],
}
