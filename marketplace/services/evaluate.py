"""The one evaluator: what a quote tells and what a purchase decides go through the same judgements, in the same order:
capacity, quota, account, price. A quote stops there; a purchase goes on and lets the database have the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from identity import facade as identity
from marketplace import selectors
from marketplace.errors import NoPrice, QuotaExceeded
from marketplace.models import Meter, Reach
from marketplace.rating import agreed, spans
from marketplace.rating.items import Rate
from marketplace.services import beside
from marketplace.services._booking import Terms
from marketplace.services._pricing import cost_of, freeze, hourly
from marketplace.services._quota import QuotaLeft, judge_quota, quota_left, quota_use
from marketplace.services.wish import Order, refusal, wish_of
from plumbing import db
from plumbing.errors import DomainError, Forbidden, NotFound
from vxpu.ids import decode
from vxpu.market import DeviceView
from vxpu.slices import Slice, dominant_permille
from vxpu.states import Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A slice on a device over the wished period. `total` is None for an open end; both amounts are for showing."""

    prices: agreed.Agreed
    rate: Rate
    held_until: datetime
    dominant_permille: int
    memory_permille: int
    per_hour: Decimal
    total: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """`device` would be taken, or is the base of the price when nothing fits; `slice` as it would be taken."""

    terms: Terms
    slice: Slice
    device: DeviceView | None
    priced: Priced | None
    quota: QuotaLeft
    quota_ok: bool
    refused: DomainError | None
    earliest_start_at: datetime | None

    @property
    def fits(self) -> bool:
        return self.refused is None


def read_terms(*, order: Order, requested_by: UUID, actor: str, reach: Reach, now: datetime, name: str = "") -> Terms:
    """Raises WrongSize, WrongPeriod, WrongChoice, OfferClosed, NotFound, Forbidden (a project out of `reach`), and
    billing's NoAccount."""
    if reach.project_ids is None or order.project_id not in reach.project_ids:
        identity.get_project(tenant_id=order.tenant_id, project_id=order.project_id)
        if reach.project_ids is not None:
            raise Forbidden("You are not a member of that project.", suggestion="See your projects at /api/v1/me.")
    wish, offer = wish_of(order, now=now)
    account = billing.get_account(tenant_id=order.tenant_id)
    return Terms(
        order=order, wish=wish, offer=offer, account_id=account.id, currency=account.currency,
        requested_by=requested_by, actor=actor, name=name,
    )  # fmt: skip


@db.transaction_required
def evaluate(terms: Terms, *, now: datetime) -> Evaluation:
    """Takes nothing and waits for nobody who books; the first "no" is the answer."""
    order, wish = terms.order, terms.wish
    device, refused = _find_device(terms, now=now)
    piece = _as_taken(terms, device)
    rows = selectors.quotas_of(tenant_id=order.tenant_id)
    uses = quota_use(rows, project_id=order.project_id, period=wish.period)
    left = quota_left(uses)
    over: DomainError | None = None
    try:
        judge_quota(uses, piece=piece, is_new=True)
    except QuotaExceeded as error:
        over = _with_what_is_left(error, piece, left)
    barred = _account_refusal(terms, now=now)
    priced, unpriced = _price(terms, device, piece)
    found = refused or over or barred or unpriced
    return Evaluation(
        terms=terms, slice=piece, device=device, priced=priced, quota=left, quota_ok=over is None, refused=found,
        earliest_start_at=_earliest(terms, refused=refused, found=found),
    )  # fmt: skip


def _find_device(terms: Terms, *, now: datetime) -> tuple[DeviceView | None, DoesNotFit | None]:
    """The device that a purchase would try first; else the refusal, with the device of the nearest way if there is."""
    try:
        best = beside.propose(wish=terms.wish, now=now)[0]
    except DoesNotFit as error:
        ways = error.data.get("alternatives")
        names = [way["device"] for way in ways] if isinstance(ways, list) else []
        wanted = terms.wish.device_id or (decode("dev", names[0]) if names else None)
        return (None if wanted is None else _device(wanted)), refusal(error)
    return allocator.get_device(device_id=best.device_id), None


def _device(device_id: UUID) -> DeviceView | None:
    try:
        return allocator.get_device(device_id=device_id)
    except NotFound:  # gone between two looks, or never there: then there is no price to tell
        return None


def _as_taken(terms: Terms, device: DeviceView | None) -> Slice:
    """A whole device is as large as it is, whatever was asked."""
    if terms.wish.isolation_at_least == Isolation.EXCLUSIVE and device is not None:
        return Slice(memory_mib=device.capacity_mib, share_permille=device.capacity_permille)
    return terms.wish.slice


def _with_what_is_left(error: QuotaExceeded, piece: Slice, left: QuotaLeft) -> QuotaExceeded:
    """What would still be allowed is no larger than what was asked, so it fits wherever that did."""
    nearest = []
    if left.reservations and left.share_permille and left.memory_mib:
        nearest = [
            Slice(
                memory_mib=min(piece.memory_mib, left.memory_mib),
                share_permille=min(piece.share_permille, left.share_permille),
            )
        ]
    error.data.update(constraints={f"quota_{error.data['resource']}": 1}, nearest=nearest)
    return error


def _account_refusal(terms: Terms, *, now: datetime) -> DomainError | None:
    try:
        billing.authorize(account_id=terms.account_id, now=now)
    except DomainError as error:
        return error
    return None


def _price(terms: Terms, device: DeviceView | None, piece: Slice) -> tuple[Priced | None, NoPrice | None]:
    if device is None:
        return None, None
    sku = "" if terms.offer is None else terms.offer.sku
    try:
        prices = freeze(
            tenant_id=terms.order.tenant_id, currency=terms.currency, sku=sku, device_kind=str(device.kind),
            period=terms.wish.period,
        )  # fmt: skip
    except NoPrice as error:
        return None, error
    rates = agreed.read(prices, Meter.DELIVERED)
    dominant = dominant_permille(piece, device_memory_mib=device.capacity_mib)
    per_hour = hourly(unit_price=rates[0].unit_price, dominant_permille=dominant)
    memory_only = piece.model_copy(update={"share_permille": 1})
    return (
        Priced(
            prices=prices,
            rate=rates[0],
            held_until=rates[-1].valid_until or terms.wish.period.starts_at,
            dominant_permille=dominant,
            memory_permille=dominant_permille(memory_only, device_memory_mib=device.capacity_mib),
            per_hour=billing.round_fine(per_hour, terms.currency),
            total=_total(terms, dominant, rates),
        ),
        None,
    )


def _total(terms: Terms, dominant: int, rates: list[Rate]) -> Decimal | None:
    """Delivered from end to end, in whole seconds, rounded once to the currency's minor unit."""
    period = terms.wish.period
    if period.ends_at is None:
        return None
    span = spans.span_between(period.starts_at, period.ends_at)
    exact = Fraction(0) if span is None else cost_of(dominant_permille=dominant, span=span, ladder=[rates])
    return billing.round_half_up(exact, terms.currency)


def _earliest(terms: Terms, *, refused: DoesNotFit | None, found: DomainError | None) -> datetime | None:
    if refused is not None:
        later = refused.data.get("next_free_at")
        return later if isinstance(later, datetime) else None
    return terms.wish.period.starts_at if found is None else None
