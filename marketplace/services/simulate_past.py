"""What the shop knows of past requests beyond their leases: those that waited, and those that got nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from allocator.facade import foresight
from marketplace.matching.queue_order import Urgency
from marketplace.models import Reservation, ReservationState, Together
from marketplace.services.wish import wish_again
from plumbing.rowsec import system_scope
from vxpu.foresight import PastWish, SimulationView, TrialSpec
from vxpu.slices import Period

S = ReservationState
SECOND = timedelta(seconds=1)
RANKS = {Urgency.URGENT: 1, Urgency.NORMAL: 0, Urgency.LOW: -1}


def simulate_past(
    *, from_at: datetime, to_at: datetime, trials: Sequence[TrialSpec], actor: str, now: datetime
) -> SimulationView:
    """For operators. Raises BadSimulation, TooManySimulations, Invalid."""
    with system_scope():
        known = list_past_wishes(from_at=from_at, to_at=to_at, now=now)
    return foresight.begin_simulation(from_at=from_at, to_at=to_at, trials=trials, known=known, actor=actor, now=now)


def list_past_wishes(*, from_at: datetime, to_at: datetime, now: datetime) -> list[PastWish]:
    """Reservations that were asked for before the period's end and had not ended at its beginning, by arrival.

    Members of a gang that wanted one node are one wish. In the system scope.
    """
    rows = (
        Reservation.objects.filter(created_at__lt=to_at).filter(Q(ended_at__isnull=True) | Q(ended_at__gt=from_at))
        .exclude(state=S.QUOTED).select_related("gang").order_by("created_at", "pk")
    )  # fmt: skip
    together: dict[UUID, list[Reservation]] = {}
    for row in rows:
        on_a_node = row.gang is not None and row.gang.together == Together.NODE
        together.setdefault(row.gang_id if on_a_node and row.gang_id else row.pk, []).append(row)
    return [_wish_of(members, now=now) for members in together.values()]


def _wish_of(members: Sequence[Reservation], *, now: datetime) -> PastWish:
    row = members[0]
    wish = wish_again(row, period=_ran(row, now=now))
    waited = row.queued_until is not None
    patience = None if row.queued_until is None else row.queued_until - row.created_at
    return PastWish(
        owners=tuple(member.pk for member in members),
        wish=replace(wish, devices=len(members)),
        arrived_at=row.created_at if waited else max(row.created_at, row.starts_at),
        rank=RANKS[Urgency(row.priority)],
        patience_s=0 if patience is None else max(0, int(patience.total_seconds())),
    )


def _ran(row: Reservation, *, now: datetime) -> Period:
    """When it ran, or would have: without an end where none is known."""
    if row.lease_id is None:
        return Period(starts_at=row.starts_at, ends_at=row.ends_at)
    ended = row.released_at or row.ended_at or now
    return Period(starts_at=min(row.starts_at, now), ends_at=max(ended, min(row.starts_at, now) + SECOND))
