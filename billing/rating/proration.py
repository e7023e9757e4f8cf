"""Parts of a whole: by time, without losing a cent or a unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from billing.rating.money import from_minor, round_half_up, share_out, to_minor
from billing.rating.periods import Span
from vxpu.money import ChargeItem

_MICROSECOND = timedelta(microseconds=1)


def prorate(fee: Decimal, *, part: Span, whole: Span, currency: str) -> Decimal:
    """The fee for a part of its period, rounded once. The denominator is the whole period, whenever the plan began."""
    if part.starts_at < whole.starts_at or whole.ends_at < part.ends_at:
        raise ValueError("the part is not within the whole")
    share = Fraction((part.ends_at - part.starts_at) // _MICROSECOND, (whole.ends_at - whole.starts_at) // _MICROSECOND)
    return round_half_up(Fraction(fee) * share, currency)


def prorate_parts(fee: Decimal, lengths_s: Sequence[int], currency: str) -> list[Decimal]:
    """A whole fee over adjoining parts, by largest remainder: the parts add up to the fee."""
    return [from_minor(part, currency) for part in share_out(to_minor(fee, currency), lengths_s)]


def split_item(item: ChargeItem, borders: Iterable[datetime]) -> list[ChargeItem]:
    """The item cut at the borders that fall inside it, the quantity in proportion to time by largest remainder."""
    inside = sorted({border for border in borders if item.starts_at < border < item.ends_at})
    edges = [item.starts_at, *inside, item.ends_at]
    spans = list(pairwise(edges))
    quantities = share_out(item.quantity, [(end - start) // _MICROSECOND for start, end in spans])
    return [
        replace(item, starts_at=start, ends_at=end, quantity=quantity)
        for (start, end), quantity in zip(spans, quantities, strict=True)
    ]


def clip_quantity(quantity: int, *, of: Span, within: Span) -> int:
    """The part of a quantity that falls within a span, in proportion to time; exact where the borders are the same."""
    before = max(within.starts_at - of.starts_at, timedelta(0))
    after = max(of.ends_at - within.ends_at, timedelta(0))
    inside = of.ends_at - of.starts_at - before - after
    if inside <= timedelta(0):
        return 0
    return share_out(quantity, [before // _MICROSECOND, inside // _MICROSECOND, after // _MICROSECOND])[1]
