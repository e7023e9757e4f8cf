"""The one way to change a reservation's state: guarded by what was read, noted by the database's trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F

from marketplace.errors import ReservationChanged, WrongState
from marketplace.events import ReservationEnded
from marketplace.models import ALLOWED, ENDED, Reservation, ReservationState
from marketplace.services.news import tell
from plumbing import outbox
from plumbing.db import transaction_required

SYSTEM = "system:marketplace"


@transaction_required
def move(
    reservation: Reservation, to: ReservationState, *, actor: str, reason: str, now: datetime, **changes: Any
) -> Reservation:
    """Move on and set `changes` with it, in memory too. Raises WrongState, and ReservationChanged if another was
    quicker."""
    state = _state_before(reservation, to)
    noted = _noted(to, actor=actor, reason=reason, now=now, changes=changes)
    won = Reservation.objects.filter(pk=reservation.pk, state=state, version=reservation.version).update(
        version=F("version") + 1, **noted
    )
    if not won:
        raise ReservationChanged(suggestion="Read the reservation and decide again.")
    _moved(reservation, noted)
    if to in ENDED:
        ended = ReservationEnded(tenant_id=reservation.tenant_id, reservation_id=reservation.pk, state=str(to), at=now)
        outbox.publish(ended)
    return reservation


@transaction_required
def move_alike(
    rows: Sequence[Reservation], to: ReservationState, *, actor: str, reason: str, now: datetime, **changes: Any
) -> None:
    """`move` for many by one statement. All are locked and in one state, and `to` is not an end."""
    states = {_state_before(row, to) for row in rows}
    noted = _noted(to, actor=actor, reason=reason, now=now, changes=changes)
    won = Reservation.objects.filter(pk__in=[row.pk for row in rows], state__in=states).update(
        version=F("version") + 1, **noted
    )
    if won != len(rows):
        raise ReservationChanged(suggestion="Read the reservations and decide again.")
    for row in rows:
        _moved(row, noted)


def _state_before(reservation: Reservation, to: ReservationState) -> ReservationState:
    state = ReservationState(reservation.state)
    if to not in ALLOWED[state]:
        raise WrongState(f"It is {state} and cannot become {to}.", state=str(state))
    return state


def _noted(
    to: ReservationState, *, actor: str, reason: str, now: datetime, changes: Mapping[str, Any]
) -> dict[str, Any]:
    return {"state": to, "changed_at": now, "changed_by": actor[:80], "change_reason": reason[:400], **changes}


def _moved(reservation: Reservation, noted: Mapping[str, Any]) -> None:
    for name, value in noted.items():
        setattr(reservation, name, value)
    reservation.version += 1
    tell(reservation)


@transaction_required
def amend(reservation: Reservation, **changes: Any) -> Reservation:
    """Set columns that are no part of the state. Raises ReservationChanged."""
    won = Reservation.objects.filter(pk=reservation.pk, version=reservation.version).update(**changes)
    if not won:
        raise ReservationChanged(suggestion="Read the reservation and decide again.")
    for name, value in changes.items():
        setattr(reservation, name, value)
    return reservation
