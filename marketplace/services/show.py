"""A reservation with its live part, as callers see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from billing.errors import NoAccount
from marketplace import selectors
from marketplace.models import Meter, Offer, Quota, Reservation
from marketplace.rating.items import NoRate, Rate, rate_at
from marketplace.rating.spans import SECOND
from marketplace.services.queue import Position, position_of
from vxpu.market import DeviceView, LeaseView
from vxpu.slices import Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`lease` is None until there is one, `position` unless it is queued."""

    row: Reservation
    lease: LeaseView | None
    position: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferShown:
    """`isolation` lists what the online devices of the kind enforce: known before the purchase. `price` may be None:
    not sold now. `devices` counts those online."""

    offer: Offer
    slice: Slice
    price: Rate | None
    currency: str
    devices: int
    isolation: list[str]
    is_simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaShown:
    """`*_in_use` is the peak of what is held from now on; reservations counts all that are not ended."""

    tenant_id: UUID
    project_id: UUID | None
    nominal_permille: int
    nominal_mib: int
    max_reservations: int
    permille_in_use: int
    mib_in_use: int
    reservations: int


def show(rows: Sequence[Reservation]) -> list[Shown]:
    """In the order given; the leases are read in one go."""
    owners = [row.pk for row in rows if row.lease_id is not None]
    leases = {lease.id: lease for lease in allocator.list_leases(owners=owners)} if owners else {}
    return [
        Shown(row=row, lease=leases.get(row.lease_id) if row.lease_id else None, position=position_of(row))
        for row in rows
    ]


def show_one(row: Reservation) -> Shown:
    return show([row])[0]


def show_offer(offer: Offer, *, tenant_id: UUID, now: datetime) -> OfferShown:
    return show_offers([offer], tenant_id=tenant_id, now=now)[0]


def show_offers(offers: Sequence[Offer], *, tenant_id: UUID, now: datetime) -> list[OfferShown]:
    """Each with the caller's price now, in the currency of his account or else the house's."""
    try:
        currency = billing.get_account(tenant_id=tenant_id).currency
    except NoAccount:
        currency = settings.VXPU_CURRENCY
    devices = [device for device in allocator.list_devices() if device.online]
    return [_one_offer(offer, devices, tenant_id=tenant_id, currency=currency, now=now) for offer in offers]


def _one_offer(
    offer: Offer, devices: Sequence[DeviceView], *, tenant_id: UUID, currency: str, now: datetime
) -> OfferShown:
    fitting = [device for device in devices if device.kind == offer.device_kind]
    ladder = selectors.price_ladder(
        tenant_id=tenant_id, currency=currency, skus=(offer.sku, offer.device_kind), meter=Meter.DELIVERED,
        starts_at=now, ends_at=now + SECOND,
    )  # fmt: skip
    try:
        price: Rate | None = rate_at(now, ladder=ladder)
    except NoRate:
        price = None
    return OfferShown(
        offer=offer,
        slice=Slice(memory_mib=offer.profile.memory_mib, share_permille=offer.profile.share_permille),
        price=price,
        currency=currency,
        devices=len(fitting),
        isolation=sorted({str(device.isolation) for device in fitting}),
        is_simulated=any(device.simulated for device in fitting),
    )


def show_quota(row: Quota, *, now: datetime) -> QuotaShown:
    permille, mib = selectors.peak_taken(
        tenant_id=row.tenant_id, project_id=row.project_id, starts_at=now, ends_at=None
    )
    return QuotaShown(
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        nominal_permille=row.nominal_permille,
        nominal_mib=row.nominal_mib,
        max_reservations=row.max_reservations,
        permille_in_use=permille,
        mib_in_use=mib,
        reservations=selectors.count_unended(tenant_id=row.tenant_id, project_id=row.project_id),
    )
