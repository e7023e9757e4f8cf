"""A reservation with its live part, and what it costs, as callers see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from allocator import facade as allocator
from billing import facade as billing
from marketplace import selectors
from marketplace.models import LIST_SCOPE, LIVE, Meter, Placement, Price, Reservation, tenant_scope_name
from marketplace.models.price import ANY_SKU
from marketplace.rating import agreed, spans
from marketplace.rating.items import NoRate, Rate, rate_at
from marketplace.services._pricing import LONG_AGO, hourly
from marketplace.services.position import Position, positions
from marketplace.services.rate import is_unrated
from marketplace.services.wish import slice_of
from vxpu.market import LeaseView, MoveView
from vxpu.slices import dominant_permille
from vxpu.states import LeaseState, Quality

LISTED = "list_at_delivery"
FIXED = "fixed_until"
UNDECIDED = ("preparing", "ready", "hooking")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSoFar:
    """What was charged, and for what runs an estimate of the seconds that are not charged yet."""

    amount: Decimal
    currency: str
    as_of: datetime
    quality: Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTerms:
    """`code` FIXED: bought with a quote, whose prices hold until `until`; else the list's price of the time."""

    code: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`lease` and `placement` are None until there is one, `position` unless it is queued, `move` unless begun."""

    row: Reservation
    lease: LeaseView | None
    placement: Placement | None
    position: Position | None
    per_hour: Decimal | None
    cost: CostSoFar | None
    price_terms: PriceTerms
    move: MoveView | None = None


def show(rows: Sequence[Reservation], *, now: datetime) -> list[Shown]:
    """In the order given; leases, placements, charges and prices are read in one go each."""
    owners = [row.pk for row in rows if row.lease_id is not None]
    # One that waits again, after a pre-emption or a failed start, has cost what it ran.
    ran = [*owners, *(row.pk for row in rows if row.lease_id is None and row.attempts + row.evictions)]
    leases = {lease.id: lease for lease in allocator.list_leases(owners=owners)} if owners else {}
    placements: dict[UUID, list[Placement]] = defaultdict(list)
    for placement in selectors.placements_of(reservations=ran) if ran else ():
        placements[placement.reservation_id].append(placement)
    sources = [placement.lease_id for placed in placements.values() for placement in placed]
    charged = {found.source: found for found in billing.charged_so_far(sources=sources)} if sources else {}
    prices = _prices_for(rows, placements, now=now)
    places = positions(rows, now=now)
    moves = {one.owner: one for one in allocator.list_moves(owners=owners, states=UNDECIDED)} if owners else {}
    shown = []
    for row in rows:
        lease = None if row.lease_id is None else leases.get(row.lease_id)
        seen = _shown(row, lease, placements[row.pk], charged, prices, now=now)
        shown.append(replace(seen, position=places.get(row.pk), move=moves.get(row.pk)))
    return shown


def show_one(row: Reservation, *, now: datetime) -> Shown:
    return show([row], now=now)[0]


def show_booked(row: Reservation, lease: LeaseView, placement: Placement, *, now: datetime) -> Shown:
    """What was booked just now: it has one placement, nothing was charged, and its price is that of its start."""
    return _shown(row, lease, [placement], {}, (), now=now)


def _shown(
    row: Reservation,
    lease: LeaseView | None,
    placed: Sequence[Placement],
    charged: Mapping[UUID, billing.SourceCost],
    prices: Sequence[Price],
    *,
    now: datetime,
) -> Shown:
    current = placed[-1] if placed and row.lease_id is not None else None
    exact = None if current is None else _hourly(row, current, prices, now=now)
    return Shown(
        row=row,
        lease=lease,
        placement=current,
        position=None,
        per_hour=None if exact is None else billing.round_fine(exact, row.currency),
        cost=_cost(row, lease, placed, charged, exact, now=now) if placed else None,
        price_terms=terms_of(row),
    )


def terms_of(row: Reservation) -> PriceTerms:
    steps = agreed.read(row.agreed_prices, Meter.DELIVERED)
    return PriceTerms(code=FIXED, until=steps[-1].valid_until) if steps else PriceTerms(code=LISTED, until=None)


def _prices_for(
    rows: Sequence[Reservation], placements: Mapping[UUID, Sequence[Placement]], *, now: datetime
) -> list[Price]:
    """Whatever any of the rows may be charged at its own reference time."""
    live = [row for row in rows if row.state in LIVE and placements.get(row.pk)]
    if not live:
        return []
    kinds = {placement.device_kind for row in live for placement in placements[row.pk]}
    return selectors.list_prices_between(
        currencies={row.currency for row in live},
        scopes={LIST_SCOPE, *(tenant_scope_name(row.tenant_id) for row in live)},
        skus={ANY_SKU, *kinds, *(row.sku for row in live if row.sku)},
        meters=[Meter.DELIVERED],
        starts_at=now,
        ends_at=max([now, *(row.starts_at for row in live)]) + timedelta(seconds=1),
    )


def _hourly(row: Reservation, placement: Placement, prices: Sequence[Price], *, now: datetime) -> Fraction | None:
    """At the price of now, or of its start if that is to come; of what has ended, at the price of the purchase."""
    if row.price_id is None or row.unit_price is None:
        return None
    bought = Rate(row.price_id, row.unit_price, LONG_AGO, None)
    book = selectors.ladder_from(
        prices, tenant_id=row.tenant_id, currency=row.currency, skus=(row.sku, placement.device_kind)
    )
    at = max(now, row.starts_at)
    try:
        rate = rate_at(at, ladder=[agreed.read(row.agreed_prices, Meter.DELIVERED), *book, [bought]])
    except NoRate:
        rate = bought
    share = dominant_permille(slice_of(row), device_memory_mib=placement.device_mib)
    return hourly(unit_price=rate.unit_price, dominant_permille=share)


def _cost(
    row: Reservation,
    lease: LeaseView | None,
    placed: Sequence[Placement],
    charged: Mapping[UUID, billing.SourceCost],
    per_hour: Fraction | None,
    *,
    now: datetime,
) -> CostSoFar:
    found = [charged[placement.lease_id] for placement in placed if placement.lease_id in charged]
    exact = sum((one.amount for one in found), Fraction(0))
    running = lease is not None and lease.ready_at is not None and lease.state == LeaseState.READY
    if running and lease is not None and lease.ready_at is not None and per_hour is not None:
        ends = [one.until for one in found if one.source == lease.id and one.until is not None]
        open_s = _uncharged_s(max([lease.ready_at, *ends]), min(now, lease.period.ends_at or now))
        exact += per_hour * open_s / 3600
    settled = not running and not is_unrated(row, now=now)
    return CostSoFar(
        amount=billing.round_fine(exact, row.currency),
        currency=row.currency,
        as_of=now,
        quality=Quality.MEASURED if settled else Quality.ESTIMATED,
    )


def _uncharged_s(starts_at: datetime, ends_at: datetime) -> int:
    span = spans.span_between(starts_at, ends_at) if starts_at < ends_at else None
    return 0 if span is None else span.seconds
