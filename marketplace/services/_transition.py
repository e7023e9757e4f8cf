"""The one way to change a reservation's state: guarded by what was read, noted by the database's trigger."""

from __future__ import annotations

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
    state = ReservationState(reservation.state)
    if to not in ALLOWED[state]:
        raise WrongState(f"It is {state} and cannot become {to}.", state=str(state))
    noted = {"state": to, "changed_at": now, "changed_by": actor[:80], "change_reason": reason[:400], **changes}
    won = Reservation.objects.filter(pk=reservation.pk, state=state, version=reservation.version).update(
        version=F("version") + 1, **noted
    )
    if not won:
        raise ReservationChanged(suggestion="Read the reservation and decide again.")
    for name, value in noted.items():
        setattr(reservation, name, value)
    reservation.version += 1
    tell(reservation)
    if to in ENDED:
        ended = ReservationEnded(tenant_id=reservation.tenant_id, reservation_id=reservation.pk, state=str(to), at=now)
        outbox.publish(ended)
    return reservation


@transaction_required
def amend(reservation: Reservation, **changes: Any) -> Reservation:
    """Set columns that are no part of the state. Raises ReservationChanged."""
    won = Reservation.objects.filter(pk=reservation.pk, version=reservation.version).update(**changes)
    if not won:
        raise ReservationChanged(suggestion="Read the reservation and decide again.")
    for name, value in changes.items():
        setattr(reservation, name, value)
    return reservation
