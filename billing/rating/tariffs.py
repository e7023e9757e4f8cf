"""Tariffs: which price holds when, and what a tier makes of a cumulative quantity.

Volume tiers price the whole quantity at the tier it reaches; graduated tiers price each part at its own tier. Both look
at the cumulative quantity of the period, so a late event re-rates all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing.rating.money import line_amount, total_of


class NoPrice(ValueError):
    """No price is valid at this instant."""


class BadTiers(ValueError):
    """Tiers must rise, and exactly the last one must be open."""


@dataclass(frozen=True, slots=True)
class PriceSpan:
    """A price and when it is valid: half-open, `ends_at` None is open."""

    price_id: UUID
    unit_price: Decimal
    starts_at: datetime
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PricedSpan:
    """A part of a service range with the one price that holds in it."""

    starts_at: datetime
    ends_at: datetime
    price_id: UUID
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class Tier:
    """`up_to` is the last quantity of the tier, inclusive; None on the last one."""

    up_to: int | None
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class TierPart:
    """A quantity at one price, not yet divided or rounded."""

    quantity: int
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class Rerated:
    """What a corrected quantity does to an issued invoice: the old amount back, the new one billed."""

    reversal: Decimal
    amount: Decimal


def split_by_price(starts_at: datetime, ends_at: datetime, prices: Sequence[PriceSpan]) -> list[PricedSpan]:
    """The range cut at every change of price. Raises NoPrice when a part of it has none."""
    parts: list[PricedSpan] = []
    at = starts_at
    for price in sorted(prices, key=lambda price: price.starts_at):
        until = ends_at if price.ends_at is None else min(price.ends_at, ends_at)
        if price.starts_at <= at < until:
            parts.append(PricedSpan(at, until, price.price_id, price.unit_price))
            at = until
    if at < ends_at:
        raise NoPrice(f"no price at {at.isoformat()}")
    return parts


def _check(tiers: Sequence[Tier]) -> None:
    bounds = [tier.up_to for tier in tiers]
    rising = [bound for bound in bounds[:-1] if bound is not None]
    if not bounds or bounds[-1] is not None or len(rising) != len(bounds) - 1 or rising != sorted(set(rising)):
        raise BadTiers(f"tiers end at {bounds}")


def volume_part(quantity: int, tiers: Sequence[Tier]) -> TierPart:
    """All of the quantity at the price of the tier that it reaches."""
    _check(tiers)
    tier = next(tier for tier in tiers if tier.up_to is None or quantity <= tier.up_to)
    return TierPart(quantity, tier.unit_price)


def graduated_parts(quantity: int, tiers: Sequence[Tier]) -> list[TierPart]:
    """Each part of the quantity at the price of its own tier; the parts add up to the quantity."""
    _check(tiers)
    parts, below = [], 0
    for tier in tiers:
        top = quantity if tier.up_to is None else min(tier.up_to, quantity)
        if top > below:
            parts.append(TierPart(top - below, tier.unit_price))
            below = top
    return parts


def rate(parts: Sequence[TierPart], *, divisor: int, currency: str) -> Decimal:
    """The amount of the parts, each divided and rounded once: each is a line of its own."""
    amounts = [
        line_amount(quantity=part.quantity, divisor=divisor, unit_price=part.unit_price, currency=currency)
        for part in parts
    ]
    return total_of(amounts, currency)


def rerate_volume(*, billed: int, corrected: int, tiers: Sequence[Tier], divisor: int, currency: str) -> Rerated:
    """A late event: the cumulative state is rated anew and what was billed is taken back whole."""
    old = rate([volume_part(billed, tiers)], divisor=divisor, currency=currency)
    new = rate([volume_part(corrected, tiers)], divisor=divisor, currency=currency)
    return Rerated(reversal=-old, amount=new)
