"""Quotes: terms that are told, a price that is held for a short time, and the purchase that takes it up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from marketplace import selectors
from marketplace.errors import QuoteExpired, QuoteRefused, QuoteUsed
from marketplace.models import EVERYWHERE, Quote, Reach
from marketplace.services._booking import Terms
from marketplace.services.evaluate import Evaluation, evaluate, read_terms
from marketplace.services.wish import Order
from plumbing import db
from vxpu.ids import encode
from vxpu.market import DeviceView

# Quotes are forgotten a day after their time; what was bought with one keeps its prices itself.
KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Terms, and the row that holds their prices."""

    evaluation: Evaluation
    quote: Quote


@db.transaction
def quote(*, order: Order, requested_by: UUID, actor: str, now: datetime, reach: Reach = EVERYWHERE) -> Quoted:
    """Always terms, also when it does not fit; takes no capacity. Raises as `read_terms` does, for bad input."""
    terms = read_terms(order=order, requested_by=requested_by, actor=actor, reach=reach, now=now)
    found = evaluate(terms, now=now)
    row = _row(found, now=now)
    row.save(force_insert=True)
    return Quoted(evaluation=found, quote=row)


def _row(found: Evaluation, *, now: datetime) -> Quote:
    order, wish, device = found.terms.order, found.terms.wish, found.device
    row = Quote(
        tenant_id=order.tenant_id, project_id=order.project_id, requested_by=found.terms.requested_by,
        memory_mib=wish.slice.memory_mib, share_permille=wish.slice.share_permille, offer_id=order.offer_id,
        device_kind=order.device_kind or "", wanted_device_id=order.device_id,
        isolation_at_least=order.isolation_at_least or "", policy=order.policy or "",
        device_models=list(order.models), pool=order.pool or "", site=order.site or "", near=order.near or "",
        cores_milli=order.cores_milli, host_mib=order.host_mib, copy_permille=order.copy_permille,
        preemptible=order.preemptible, starts_at=order.starts_at,
        ends_at=order.ends_at, created_at=now, expires_at=now + timedelta(seconds=settings.VXPU_QUOTE_TTL_S),
    )  # fmt: skip
    if found.fits and device is not None and found.priced is not None:
        row.device_id, row.device_model, row.device_mib = device.id, device.model, device.capacity_mib
        row.device_isolation, row.device_simulated = str(device.isolation), device.simulated
        row.agreed_prices = found.priced.prices
    return row


def order_of(row: Quote, *, now: datetime) -> Order:
    """What was asked, again. A start that has come meanwhile is now."""
    starts_at = None if row.starts_at is None or row.starts_at <= now else row.starts_at
    sizes = (None, None) if row.offer_id else (row.memory_mib, row.share_permille)
    return Order(
        tenant_id=row.tenant_id, project_id=row.project_id, offer_id=row.offer_id, memory_mib=sizes[0],
        share_permille=sizes[1], device_kind=row.device_kind or None, device_id=row.wanted_device_id,
        isolation_at_least=row.isolation_at_least or None, policy=row.policy or None, models=tuple(row.device_models),
        pool=row.pool or None, site=row.site or None, near=row.near or None, cores_milli=row.cores_milli,
        host_mib=row.host_mib, copy_permille=row.copy_permille, starts_at=starts_at,
        ends_at=row.ends_at, preemptible=row.preemptible,
    )  # fmt: skip


def terms_of(*, quote_id: UUID, requested_by: UUID, actor: str, name: str, reach: Reach, now: datetime) -> Terms:
    """The order of a quote that can be used, with its prices. Raises QuoteExpired, QuoteUsed, QuoteRefused, NotFound,
    and as `read_terms` does."""
    row = selectors.get_quote(quote_id=quote_id, reach=reach)
    check_usable(row, now=now)
    if row.agreed_prices is None:
        raise QuoteRefused("It promised nothing.", suggestion="Change the wish and ask for a new quote.")
    order = order_of(row, now=now)
    terms = read_terms(order=order, requested_by=requested_by, actor=actor, reach=reach, now=now, name=name)
    return Terms(
        order=order, wish=terms.wish, offer=terms.offer, account_id=terms.account_id, currency=terms.currency,
        requested_by=requested_by, actor=actor, name=name, quote=row,
    )  # fmt: skip


def check_usable(row: Quote, *, now: datetime) -> None:
    """Raises QuoteUsed, QuoteExpired."""
    if row.reservation_id is not None:
        name = encode("rsv", row.reservation_id)
        raise QuoteUsed(f"It became {name}.", suggestion=f"See /api/v1/reservations/{name}.", reservation=name)
    if row.expires_at <= now:
        raise QuoteExpired(
            f"It was held until {row.expires_at.isoformat(timespec='seconds')}.",
            suggestion="`now` has the terms of this moment; ask for a new quote to hold them.",
        )


@db.transaction_required
def use(row: Quote, *, reservation_id: UUID, now: datetime) -> None:
    """Guarded, in the transaction that books: of two who confirm one quote, one wins. Raises as `check_usable`."""
    won = Quote.objects.filter(pk=row.pk, used_at__isnull=True, expires_at__gt=now).update(
        used_at=now, reservation_id=reservation_id
    )
    if not won:
        seen = selectors.get_quote(quote_id=row.pk)
        check_usable(seen, now=now)
        raise QuoteExpired("It is gone.", suggestion="Ask for a new quote.")


@db.transaction
def terms_now(*, quote_id: UUID, actor: str, requested_by: UUID, reach: Reach, now: datetime) -> Evaluation:
    """What the same wish would cost at this moment; nothing is held."""
    row = selectors.get_quote(quote_id=quote_id, reach=reach)
    order = order_of(row, now=now)
    terms = read_terms(order=order, requested_by=requested_by, actor=actor, reach=reach, now=now)
    return evaluate(terms, now=now)


def keeps_the_promise(row: Quote, device: DeviceView) -> bool:
    """Whether another device is the same to who was quoted: then the price and what is enforced are, too."""
    return (
        device.model == row.device_model
        and device.capacity_mib == row.device_mib
        and str(device.isolation) == row.device_isolation
        and device.simulated == row.device_simulated
    )


@db.transaction
def purge(*, now: datetime) -> int:
    """Forget old quotes; returns how many. For a periodic task."""
    return Quote.objects.filter(expires_at__lte=now - KEPT).delete()[0]
