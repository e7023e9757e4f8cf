"""Which tasks hear of which event. One that nobody wants is listed with an empty list: no accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allocator import tasks as fleet
from allocator.events import (
    CapacityFreed,
    DesiredChanged,
    LeaseActivated,
    LeaseEnded,
    LeaseLost,
    LeaseRecovered,
    LeaseResized,
    LeasesLost,
    LeasesUnreachable,
    MoveEnded,
    MoveReady,
    NodeChanged,
    NodeRevoked,
    RoomMade,
    SimulationAsked,
    UsageArrived,
)
from marketplace import tasks as market
from marketplace.events import (
    EarlierStartOffered,
    ReservationConfirmed,
    ReservationEnded,
    ReservationPreempted,
    ReservationQueued,
)

SUBSCRIPTIONS: dict[type[Any], Sequence[Any]] = {
    DesiredChanged: [fleet.poke_nodes],
    NodeRevoked: [fleet.close_node],
    # The live topics hear of it at once, from the service.
    NodeChanged: [],
    CapacityFreed: [market.place_queued, market.offer_earlier_starts],
    LeaseActivated: [market.reconcile_owners],
    LeaseEnded: [market.reconcile_owners],
    LeaseLost: [market.reconcile_owners],
    # A smaller size may be room for others.
    LeaseResized: [market.rate_dirty, market.place_queued, market.offer_earlier_starts],
    # A phase changed: the bucket is dirty already, and no state of the reservation changes.
    LeaseRecovered: [market.rate_dirty],
    LeasesUnreachable: [market.rate_dirty],
    # The watch does it at once itself; this is for a worker that died in between.
    LeasesLost: [market.fail_over],
    UsageArrived: [market.rate_dirty],
    MoveReady: [market.switch_moves],
    MoveEnded: [fleet.run_moves],
    RoomMade: [market.make_room],
    SimulationAsked: [fleet.run_simulations],
    ReservationConfirmed: [market.reconcile_owners],
    ReservationQueued: [market.place_queued],
    ReservationEnded: [market.spare_victims],
    # Notices and webhooks will listen to these.
    ReservationPreempted: [],
    EarlierStartOffered: [],
}
