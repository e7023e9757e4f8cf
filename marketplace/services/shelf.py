"""Offers and quotas as callers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from billing.errors import NoAccount
from marketplace import selectors
from marketplace.models import LIST_SCOPE, Meter, Offer, Price, Quota, tenant_scope_name
from marketplace.models.price import ANY_SKU
from marketplace.rating import spans
from marketplace.rating.items import NoRate, Rate, rate_at
from marketplace.services.wish import known_isolation
from vxpu.market import DeviceView, Outlook, Wish
from vxpu.slices import Period, Slice

# How long an offer's "earliest start" and "free now" are looked for: nobody has said yet how long he wants it.
AN_HOUR = timedelta(hours=1)
LINE_BACK = timedelta(hours=24)
LINE_AHEAD = timedelta(days=31)
PRESETS = {125: "1/8", 250: "1/4", 375: "3/8", 500: "1/2", 625: "5/8", 750: "3/4", 875: "7/8", 1000: "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceStep:
    """From `at` on; None is "not sold"."""

    at: datetime
    unit_price: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferShown:
    """`isolation` lists what the online devices of the kind enforce: known before the purchase. `price` may be None:
    not sold now. `devices` counts those online; `outlook` is for an hour from now."""

    offer: Offer
    slice: Slice
    price: Rate | None
    currency: str
    devices: int
    isolation: list[str]
    is_simulated: bool
    outlook: Outlook
    price_line: list[PriceStep]
    preset: str | None
    health: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaShown:
    """`*_in_use` is the peak of what is held from now on; reservations counts all that are not ended."""

    row: Quota
    tenant_id: UUID
    project_id: UUID | None
    nominal_permille: int
    nominal_mib: int
    max_reservations: int
    permille_in_use: int
    mib_in_use: int
    reservations: int


def show_offer(offer: Offer, *, tenant_id: UUID, now: datetime) -> OfferShown:
    return show_offers([offer], tenant_id=tenant_id, now=now)[0]


def show_offers(offers: Sequence[Offer], *, tenant_id: UUID, now: datetime) -> list[OfferShown]:
    """Each with the caller's price now, in the currency of his account or else the house's."""
    try:
        currency = billing.get_account(tenant_id=tenant_id).currency
    except NoAccount:
        currency = settings.VXPU_CURRENCY
    if not offers:
        return []
    devices = [device for device in allocator.list_devices() if device.online]
    outlooks = allocator.outlook(wishes=[_wish(offer, now=now) for offer in offers], now=now)
    prices = selectors.list_prices_between(
        currencies=[currency],
        scopes=[LIST_SCOPE, tenant_scope_name(tenant_id)],
        skus={ANY_SKU, *(name for offer in offers for name in (offer.sku, offer.device_kind))},
        meters=[Meter.DELIVERED],
        starts_at=now - LINE_BACK,
        ends_at=now + LINE_AHEAD,
    )
    return [
        _one_offer(offer, devices, outlook, prices, tenant_id=tenant_id, currency=currency, now=now)
        for offer, outlook in zip(offers, outlooks, strict=True)
    ]


def _wish(offer: Offer, *, now: datetime) -> Wish:
    return Wish(
        slice=_size(offer),
        period=Period(starts_at=now, ends_at=now + AN_HOUR),
        device_kind=offer.device_kind,
        isolation_at_least=known_isolation(offer.isolation_at_least),
    )


def _size(offer: Offer) -> Slice:
    return Slice(memory_mib=offer.profile.memory_mib, share_permille=offer.profile.share_permille)


def _one_offer(
    offer: Offer,
    devices: Sequence[DeviceView],
    outlook: Outlook,
    prices: Sequence[Price],
    *,
    tenant_id: UUID,
    currency: str,
    now: datetime,
) -> OfferShown:
    fitting = [device for device in devices if device.kind == offer.device_kind]
    ladder = selectors.ladder_from(prices, tenant_id=tenant_id, currency=currency, skus=(offer.sku, offer.device_kind))
    try:
        price: Rate | None = rate_at(now, ladder=ladder)
    except NoRate:
        price = None
    scores = (allocator.health_score(device=device, now=now) for device in fitting)
    known = [score for score in scores if score is not None]
    return OfferShown(
        offer=offer,
        slice=_size(offer),
        price=price,
        currency=currency,
        devices=len(fitting),
        isolation=sorted({str(device.isolation) for device in fitting}),
        is_simulated=any(device.simulated for device in fitting),
        outlook=outlook,
        price_line=price_line(ladder, starts_at=now - LINE_BACK, ends_at=now + LINE_AHEAD),
        preset=PRESETS.get(offer.profile.share_permille),
        health=max(known, default=None),
    )


def price_line(ladder: Sequence[Sequence[Rate]], *, starts_at: datetime, ends_at: datetime) -> list[PriceStep]:
    """The price as a line of steps over [starts_at, ends_at): one where it changes, and one at the start."""
    span = spans.Span(spans.floor_second(starts_at), spans.ceil_second(ends_at))
    borders = [at for level in ladder for rate in level for at in (rate.valid_from, rate.valid_until) if at is not None]
    steps: list[PriceStep] = []
    for piece in spans.cut(span, borders=borders):
        try:
            unit_price: Decimal | None = rate_at(piece.starts_at, ladder=ladder).unit_price
        except NoRate:
            unit_price = None
        if not steps or steps[-1].unit_price != unit_price:
            steps.append(PriceStep(at=piece.starts_at, unit_price=unit_price))
    return steps


def show_quota(row: Quota, *, now: datetime) -> QuotaShown:
    permille, mib, count = selectors.peak_and_count(
        tenant_id=row.tenant_id, project_id=row.project_id, starts_at=now, ends_at=None
    )
    return QuotaShown(
        row=row,
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        nominal_permille=row.nominal_permille,
        nominal_mib=row.nominal_mib,
        max_reservations=row.max_reservations,
        permille_in_use=permille,
        mib_in_use=mib,
        reservations=count,
    )
