"""Which price holds for a reservation."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from marketplace import selectors
from marketplace.errors import NoPrice
from marketplace.models import Meter
from marketplace.rating.items import NoRate, Rate, rate_at


def price_at(*, tenant_id: UUID, currency: str, sku: str, device_kind: str, at: datetime) -> Rate:
    """The price per device-hour of delivered time at `at`. Raises NoPrice."""
    ladder = selectors.price_ladder(
        tenant_id=tenant_id, currency=currency, skus=(sku, device_kind), meter=Meter.DELIVERED, starts_at=at,
        ends_at=at + timedelta(seconds=1),
    )  # fmt: skip
    try:
        return rate_at(at, ladder=ladder)
    except NoRate as error:
        raise NoPrice(
            f"No price in {currency} for {sku or device_kind} at {at.isoformat()}.",
            suggestion="Choose another time, or ask the operator to publish a price.",
        ) from error
