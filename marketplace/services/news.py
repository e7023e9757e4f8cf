"""Who hears of a reservation as it changes: the live topics of marketplace/live.py."""

from __future__ import annotations

from uuid import UUID

from marketplace.models import Reservation
from plumbing.live.publish import publish
from vxpu.ids import encode

EVERYBODYS = "reservations"


def reservations_feed(tenant_id: UUID | None) -> str:
    """A tenant's; None: every tenant's, for operators."""
    return EVERYBODYS if tenant_id is None else f"{EVERYBODYS}:{tenant_id}"


def news_of(reservation: Reservation) -> dict[str, object]:
    """What a page needs to know which of its rows is out of date."""
    return {
        "reservation": encode("rsv", reservation.pk),
        "project": encode("prj", reservation.project_id),
        "state": str(reservation.state),
        "version": reservation.version,
    }


def tell(reservation: Reservation) -> None:
    """Said after the commit."""
    for feed in (reservations_feed(reservation.tenant_id), reservations_feed(None)):
        publish(feed, news_of(reservation))
