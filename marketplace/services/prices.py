"""Price books. The operator sets them; a price that has started can only be given an end."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from psycopg.types.range import TimestamptzRange

from identity import facade as identity
from marketplace import selectors
from marketplace.errors import BookExists, PriceOverlaps, PriceStarted, WrongPeriod
from marketplace.models import ANY_SKU, SINCE_EVER, Meter, Price, PriceBook
from marketplace.services.news import tell_price
from plumbing import db
from plumbing.errors import Invalid

DECIMALS = 10


class WrongPrice(Invalid):
    code = "wrong_price"
    title = "The price is not possible."


@db.transaction
def create_book(*, name: str, currency: str, for_tenant_id: UUID | None, now: datetime) -> PriceBook:
    """A new scope (currency, and tenant if any) begins with a price of 0 for reserved time, so that such time is
    always shown with a price of the book. Raises BookExists, NotFound for an unknown tenant."""
    if for_tenant_id is not None:
        identity.get_tenant(tenant_id=for_tenant_id)
    owner = for_tenant_id or settings.VXPU_OPERATOR_TENANT
    book = PriceBook(tenant_id=owner, name=name, currency=currency, for_tenant_id=for_tenant_id, created_at=now)
    try:
        with db.savepoint():
            book.save(force_insert=True)
    except IntegrityError as error:
        raise BookExists(f"{name!r} is taken.", suggestion="Choose another name.") from error
    free = Price.objects.filter(
        scope=book.scope, currency=currency, sku=ANY_SKU, meter=Meter.RESERVED, valid__startswith=SINCE_EVER
    )
    if not free.exists():
        _insert(book, ANY_SKU, Meter.RESERVED, Decimal(0), TimestamptzRange(SINCE_EVER, None, "[)"), now=now)
    return book


@db.transaction
def add_price(
    *,
    book_id: UUID,
    sku: str,
    meter: str,
    unit_price: Decimal,
    valid_from: datetime | None,
    valid_until: datetime | None,
    ends_previous: bool,
    now: datetime,
) -> Price:
    """`unit_price` per device-hour. With `ends_previous` the price that is valid at the start is ended there, in the
    same transaction. Starts and ends lie on whole seconds. Raises PriceOverlaps, WrongPrice, WrongPeriod, NotFound."""
    book = selectors.get_book(book_id=book_id)
    starts_at = _whole_second(valid_from or now)
    ends_at = None if valid_until is None else _whole_second(valid_until)
    if ends_at is not None and ends_at <= starts_at:
        raise WrongPeriod("valid_until must be after valid_from.", suggestion="Leave it out for an open end.")
    if unit_price < 0 or unit_price != round(unit_price, DECIMALS) or unit_price >= 10**10:
        raise WrongPrice(f"{unit_price} is not a price.", suggestion="0 or more, at most ten decimals.")
    if ends_previous:
        before = Price.objects.select_for_update().filter(
            scope=book.scope, currency=book.currency, sku=sku, meter=meter, valid__contains=starts_at
        )
        for price in before.exclude(valid__startswith=starts_at):
            set_end(price, ends_at=starts_at)
    return _insert(book, sku, Meter(meter), unit_price, TimestamptzRange(starts_at, ends_at, "[)"), now=now)


@db.transaction
def end_price(*, price_id: UUID, ends_at: datetime | None, now: datetime) -> Price:
    """Raises PriceStarted for an end before now, or when the price has ended already; NotFound."""
    price = selectors.get_price(price_id=price_id)
    at = _whole_second(ends_at or now)
    if at < _whole_second(now) or at <= price.valid.lower or (price.valid.upper and price.valid.upper <= now):
        raise PriceStarted("Time that was sold keeps its price.", suggestion="Choose an end that is ahead.")
    return set_end(price, ends_at=at)


@db.transaction_required
def set_end(price: Price, *, ends_at: datetime) -> Price:
    price.valid = TimestamptzRange(price.valid.lower, ends_at, "[)")
    try:
        with db.savepoint():
            price.save(update_fields=["valid"])
    except IntegrityError as error:
        raise PriceStarted(
            "Only the end of a started price can be set, and not into the past.",
            suggestion="Choose an end that is ahead, and that no later price overlaps.",
        ) from error
    tell_price(sku=price.sku, tenant_id=price.book.for_tenant_id)
    return price


@db.transaction_required
def _insert(
    book: PriceBook, sku: str, meter: Meter, unit_price: Decimal, valid: TimestamptzRange, *, now: datetime
) -> Price:
    price = Price(
        tenant_id=book.tenant_id, book=book, scope=book.scope, currency=book.currency, sku=sku, meter=meter,
        unit_price=unit_price, valid=valid, created_at=now,
    )  # fmt: skip
    try:
        with db.savepoint():
            price.save(force_insert=True)
    except IntegrityError as error:
        if "one_price_at_a_time" not in str(error):
            raise
        raise PriceOverlaps(
            f"{sku} ({meter}) has a price in that time.",
            suggestion='End that one first, or send "ends_previous": true.',
        ) from error
    tell_price(sku=sku, tenant_id=book.for_tenant_id)
    return price


def _whole_second(at: datetime) -> datetime:
    """Prices change on whole seconds, as time is metered in whole seconds."""
    return at.astimezone(UTC).replace(microsecond=0)
