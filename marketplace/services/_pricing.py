"""Which price holds for a reservation, and what a slice costs at given prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from marketplace import selectors
from marketplace.errors import NoPrice
from marketplace.models import Meter, Reservation
from marketplace.rating import agreed, spans
from marketplace.rating.items import NoRate, Rate, Taken, rate_at, split_at_prices
from vxpu.money import DEVICE_HOUR
from vxpu.slices import Period

# A quote without an end holds its prices for this long from its start.
OPEN_HELD = timedelta(hours=24)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


def price_at(*, tenant_id: UUID, currency: str, sku: str, device_kind: str, at: datetime) -> Rate:
    """The price per device-hour of delivered time at `at`. Raises NoPrice."""
    ladder = selectors.price_ladder(
        tenant_id=tenant_id, currency=currency, skus=(sku, device_kind), meter=Meter.DELIVERED, starts_at=at,
        ends_at=at + timedelta(seconds=1),
    )  # fmt: skip
    return _first_rate(ladder, currency=currency, name=sku or device_kind, at=at)


def _first_rate(ladder: Sequence[Sequence[Rate]], *, currency: str, name: str, at: datetime) -> Rate:
    try:
        return rate_at(at, ladder=ladder)
    except NoRate as error:
        raise NoPrice(
            f"No price in {currency} for {name} at {at.isoformat()}.",
            suggestion="Choose another time, or ask the operator to publish a price.",
        ) from error


def price_of(row: Reservation, *, device_kind: str, at: datetime) -> Rate:
    """What was agreed for `at`, else the book's price. Raises NoPrice."""
    for rate in agreed.read(row.agreed_prices, Meter.DELIVERED):
        if rate.covers(at):
            return rate
    return price_at(tenant_id=row.tenant_id, currency=row.currency, sku=row.sku, device_kind=device_kind, at=at)


def held_span(period: Period) -> spans.Span:
    """The whole seconds over which a quote for the period holds its prices."""
    first = spans.floor_second(period.starts_at.astimezone(UTC))
    last = period.starts_at + OPEN_HELD if period.ends_at is None else period.ends_at
    return spans.Span(first, spans.ceil_second(last.astimezone(UTC)))


def freeze(*, tenant_id: UUID, currency: str, sku: str, device_kind: str, period: Period) -> agreed.Agreed:
    """The book as it stands, for the period: what a quote promises. A hole later in the book is filled with the price
    of the start. Raises NoPrice when nothing is sold at the start."""
    span = held_span(period)
    ladders = selectors.price_ladders(
        tenant_id=tenant_id, currency=currency, skus=(sku, device_kind), starts_at=span.starts_at, ends_at=span.ends_at
    )
    first = _first_rate(ladders[Meter.DELIVERED], currency=currency, name=sku or device_kind, at=span.starts_at)
    pieces = {}
    for meter, ladder in ladders.items():
        filler = first.unit_price if meter == Meter.DELIVERED else Decimal(0)
        whole = [*ladder, [Rate(first.price_id, filler, LONG_AGO, None)]]
        pieces[str(meter)] = split_at_prices(Taken(span, 0, ""), ladder=whole)
    return agreed.keep(pieces)


def hourly(*, unit_price: Decimal, dominant_permille: int) -> Fraction:
    """What an hour of the share costs, exactly."""
    return Fraction(unit_price) * dominant_permille / 1000


def cost_of(*, dominant_permille: int, span: spans.Span, ladder: Sequence[Sequence[Rate]]) -> Fraction:
    """What the share costs over the span, delivered from end to end, exactly. Raises NoRate."""
    pieces = split_at_prices(Taken(span, dominant_permille, ""), ladder=ladder)
    return sum((Fraction(piece.rate.unit_price) * piece.permille_s / DEVICE_HOUR for piece in pieces), Fraction(0))


def ladder_of(row: Reservation, meter: Meter, span: spans.Span, *, device_kind: str) -> list[list[Rate]]:
    """What was agreed with a quote, then the book's prices, then the price of the purchase: a hole in the book is not
    the tenant's fault, nor a gift."""
    ladder = selectors.price_ladder(
        tenant_id=row.tenant_id, currency=row.currency, skus=(row.sku, device_kind), meter=meter,
        starts_at=span.starts_at, ends_at=span.ends_at,
    )  # fmt: skip
    ladder = [agreed.read(row.agreed_prices, meter), *ladder]
    if row.price_id is None or row.unit_price is None:
        return ladder
    filler = row.unit_price if meter == Meter.DELIVERED else Decimal(0)
    return [*ladder, [Rate(row.price_id, filler, LONG_AGO, None)]]
