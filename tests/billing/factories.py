"""Accounts, items and charges for tests: through the services, as the product makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction

from billing import facade as billing
from vxpu.ids import new_uuid
from vxpu.money import DEVICE_HOUR, AccountView, ChargeItem, ChargeOutcome, InvoiceView

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICE = UUID(int=7)


def make_item(**over: Any) -> ChargeItem:
    """A quarter of a device for one hour at 3.20 an hour."""
    item = ChargeItem(
        kind="used", starts_at=NOON, ends_at=NOON + HOUR, quantity=250 * 3600, divisor=DEVICE_HOUR,
        unit_price=Decimal("3.20"), price_id=PRICE, text="Card A, 24 GiB + 25 %",
    )  # fmt: skip
    return replace(item, **over)


def make_account(**over: Any) -> AccountView:
    """An account in EUR and Berlin time, opened at the start of the year."""
    wanted: dict[str, Any] = {
        "tenant_id": new_uuid(), "name": "Ada Labs", "currency": "EUR", "zone": "Europe/Berlin",
        "now": datetime(2026, 1, 1, tzinfo=UTC),
    }  # fmt: skip
    return billing.open_account(**{**wanted, **over})


def charge(account: AccountView, *items: ChargeItem, **over: Any) -> ChargeOutcome:
    """Sets the charges of one bucket: by default source 1, the hour of the first item."""
    wanted: dict[str, Any] = {
        "source": UUID(int=1),
        "bucket": items[0].starts_at.replace(minute=0, second=0) if items else NOON,
        "now": NOON + HOUR,
    }
    with transaction.atomic():
        return billing.charge(account_id=account.id, tenant_id=account.tenant_id, items=items, **{**wanted, **over})


def close(account: AccountView, starts_at: datetime = NOON, ends_at: datetime = NOON + HOUR) -> InvoiceView:
    """Closes the period an hour after its end."""
    return billing.close_period(tenant_id=account.tenant_id, starts_at=starts_at, ends_at=ends_at, now=ends_at + HOUR)


def amounts(invoice: InvoiceView) -> Sequence[str]:
    return [str(line.amount) for line in invoice.lines]
