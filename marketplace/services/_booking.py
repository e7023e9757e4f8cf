"""What every way to a booking shares: the terms, the row, its lease and its placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from marketplace.models import Offer, Placement, Quote, Reservation
from marketplace.services._pricing import price_of
from marketplace.services._quota import check_quota
from marketplace.services.wish import Order
from plumbing import db
from vxpu.market import Candidate, DeviceView, LeaseView, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """An order that has been read: who buys, what, on which account. With a quote its prices are the agreed ones."""

    order: Order
    wish: Wish
    offer: Offer | None
    account_id: UUID
    currency: str
    requested_by: UUID
    actor: str
    name: str = ""
    quote: Quote | None = None


def draft_of(terms: Terms, *, now: datetime) -> Reservation:
    """The row without a state and a lease."""
    order, wish, offer, quote = terms.order, terms.wish, terms.offer, terms.quote
    return Reservation(
        name=terms.name,
        quote_id=None if quote is None else quote.pk,
        agreed_prices=None if quote is None else quote.agreed_prices,
        tenant_id=order.tenant_id,
        project_id=order.project_id,
        account_id=terms.account_id,
        requested_by=terms.requested_by,
        memory_mib=wish.slice.memory_mib,
        share_permille=wish.slice.share_permille,
        starts_at=wish.period.starts_at,
        ends_at=wish.period.ends_at,
        offer_id=None if offer is None else offer.id,
        sku="" if offer is None else offer.sku,
        device_kind=wish.device_kind or "",
        wanted_device_id=wish.device_id,
        isolation_at_least=wish.isolation_at_least or "",
        policy=wish.policy or "",
        device_models=list(wish.models),
        pool=wish.pool or "",
        site=wish.site or "",
        near=wish.near or "",
        cores_milli=wish.cores_milli,
        host_mib=wish.host_mib,
        copy_permille=wish.copy_permille,
        priority=order.priority,
        preemptible=order.preemptible,
        currency=terms.currency,
        created_at=now,
        changed_at=now,
        changed_by=terms.actor,
    )


@db.transaction_required
def book_lease(
    *, tenant_id: UUID, project_id: UUID, owner: UUID, wish: Wish, candidates: Sequence[Candidate], now: datetime
) -> LeaseView:
    """The database has the last word on the candidates. The caller has checked the quota for the wish; a whole device
    may be more than was asked, and is checked here. Raises DoesNotFit, QuotaExceeded."""
    lease = allocator.book(
        tenant_id=tenant_id, owner=owner, wish=wish, candidates=list(candidates), hold_until=None, now=now
    )
    if lease.slice != wish.slice:
        check_quota(
            tenant_id=tenant_id, project_id=project_id, piece=lease.slice, period=wish.period, leave_out=owner,
            is_new=False,
        )  # fmt: skip
    return lease


def take_lease(reservation: Reservation, *, lease: LeaseView, device: DeviceView) -> dict[str, object]:
    """Bind a lease and the price that holds at its start; the same values are returned, for a guarded update."""
    price = price_of(reservation, device_kind=str(device.kind), at=lease.period.starts_at)
    bound: dict[str, object] = {
        "lease_id": lease.id,
        "device_id": lease.device_id,
        # A whole device is as large as it is, whatever was asked.
        "memory_mib": lease.slice.memory_mib,
        "share_permille": lease.slice.share_permille,
        "price_id": price.price_id,
        "unit_price": price.unit_price,
    }
    for name, value in bound.items():
        setattr(reservation, name, value)
    return bound


@db.transaction_required
def note_placement(
    reservation: Reservation,
    *,
    lease: LeaseView,
    device: DeviceView,
    now: datetime,
    candidates: Sequence[Candidate] = (),
) -> Placement:
    """Which lease on which device serves the reservation, and why that one: it is one of the candidates."""
    row = placement_of(reservation, lease=lease, device=device, now=now, candidates=candidates)
    row.save(force_insert=True)
    return row


def placement_of(
    reservation: Reservation,
    *,
    lease: LeaseView,
    device: DeviceView,
    now: datetime,
    candidates: Sequence[Candidate] = (),
) -> Placement:
    """The row, not yet written."""
    return Placement(
        tenant_id=reservation.tenant_id,
        reservation=reservation,
        lease_id=lease.id,
        device_id=lease.device_id,
        device_kind=str(device.kind),
        device_model=device.model,
        device_mib=device.capacity_mib,
        device_simulated=device.simulated,
        booked_from=max(now, reservation.starts_at),
        why=next((why_of(one) for one in candidates if one.device_id == lease.device_id), None),
        created_at=now,
    )


def why_of(candidate: Candidate) -> dict[str, object] | None:
    """The score that chose it, as plain values. None for one that was not chosen by a score."""
    if not candidate.policy:
        return None
    return {
        "policy": candidate.policy, "score": candidate.score, "terms": dict(candidate.terms),
        "fitted": candidate.fitted, "runner_up": candidate.runner_up,
    }  # fmt: skip


@db.transaction_required
def replace_placement(
    reservation: Reservation,
    *,
    lease: LeaseView,
    device: DeviceView,
    now: datetime,
    candidates: Sequence[Candidate] = (),
) -> None:
    """Close the one before, and note the new one."""
    before = Placement.objects.filter(reservation=reservation, is_current=True).first()
    if before is not None:
        before.is_current = False
        # A lease that was replaced before its start has never been anybody's time.
        before.booked_until = max(before.booked_from, now)
        before.save(update_fields=["is_current", "booked_until"])
    note_placement(reservation, lease=lease, device=device, now=now, candidates=candidates)
