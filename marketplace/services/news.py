"""Who hears of reservations, the queue, prices and events as they change: the live topics of marketplace/live.py."""

from __future__ import annotations

from uuid import UUID

from marketplace.models import Reservation
from plumbing.live.publish import publish
from vxpu.ids import encode

EVERYBODYS = "reservations"
EVENTS = "events"


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
    tell_event(
        tenant_id=reservation.tenant_id, project_id=reservation.project_id, kind=f"reservation.{reservation.state}",
        subject=encode("rsv", reservation.pk),
    )  # fmt: skip


def events_feed(tenant_id: UUID | None) -> str:
    """A tenant's; None: every tenant's, for operators."""
    return EVENTS if tenant_id is None else f"{EVENTS}:{tenant_id}"


def tell_event(*, tenant_id: UUID, project_id: UUID | None, kind: str, subject: str) -> None:
    """Something new stands in the feed of events; said after the commit."""
    project = None if project_id is None else encode("prj", project_id)
    for feed in (events_feed(tenant_id), events_feed(None)):
        publish(feed, {"kind": kind, "subject": subject, "project": project})


def queue_feed(tenant_id: UUID) -> str:
    return f"queue:{tenant_id}"


def wait_of(row: Reservation) -> dict[str, object]:
    """What a queued wish waits for, and until when as far as can be told."""
    told = {name: getattr(row, name) for name in ("estimated_start_at", "estimated_start_by", "next_try_at")}
    return {
        "reservation": encode("rsv", row.pk),
        "project": encode("prj", row.project_id),
        "waits_for": row.waits_for,
        **{name: None if at is None else at.isoformat() for name, at in told.items()},
    }


def tell_wait(row: Reservation) -> None:
    """The wait has another reason or another estimate; said after the commit."""
    publish(queue_feed(row.tenant_id), wait_of(row))


def price_feed(sku: str) -> str:
    return f"price:{sku}"


def tell_price(*, sku: str, tenant_id: UUID | None) -> None:
    """A price of this name was published or ended, for everybody or for one tenant; said after the commit."""
    publish(price_feed(sku), {"sku": sku, "tenant": None if tenant_id is None else encode("ten", tenant_id)})
