"""Money words that cross rooms: what is charged, and what an account and an invoice look like from outside.

Amounts are `Decimal` at the exponent of their currency; unit prices have at most ten decimals; quantities are integers.
Nothing here rounds: rounding has one home, `billing/rating/money.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from uuid import UUID

DEVICE_HOUR = 3_600_000
"""Permille-seconds in an hour of a whole device: the divisor of a price per device-hour."""


class ChargeKind(StrEnum):
    """What a line is for. Delivered time is used or idle, or just `delivered` where its use cannot be read: unknown is
    not zero. Reserved time that was not delivered is shown even when it costs nothing."""

    USED = "used"
    IDLE = "idle"
    DELIVERED = "delivered"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeItem:
    """An integer `quantity` over the half-open [starts_at, ends_at): it costs quantity x unit_price / divisor.

    For compute: quantity in permille-seconds of one device, `unit_price` per device-hour, divisor `DEVICE_HOUR`.
    `text` names the device and the slice and no time, for a line adds up all items with the same text. `simulated`
    marks a device that is not real; the bill says so.
    """

    kind: str
    starts_at: datetime
    ends_at: datetime
    quantity: int
    divisor: int
    unit_price: Decimal
    price_id: UUID
    text: str
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeOutcome:
    """What setting the charges of one (source, bucket) did; `changed` is False when they were so already."""

    revision: int
    added: int
    reversed: int

    @property
    def changed(self) -> bool:
        return bool(self.added or self.reversed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCost:
    """What a source was charged so far, exactly; `until` is how far its delivered time is charged."""

    source: UUID
    amount: Fraction
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCell:
    """What a source was charged of one kind within one part of a range, exactly; `cell` counts the parts from 0."""

    source: UUID
    kind: str
    cell: int
    quantity: int
    amount: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoicedCell:
    """What invoices bill of it. A line that spans several parts is shared over them; the shares add up to the line."""

    source: UUID
    kind: str
    cell: int
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """Who pays: `zone` is an IANA name, `anchor_day` (1-31) the local day on which periods begin."""

    id: UUID
    tenant_id: UUID
    name: str
    currency: str
    zone: str
    anchor_day: int
    status: str
    opened_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    """One rounded amount. `adjusts` is the invoice that a late line corrects; None on an ordinary line."""

    kind: str
    source: UUID
    starts_at: datetime
    ends_at: datetime
    quantity: int
    divisor: int
    unit_price: Decimal
    price_id: UUID
    text: str
    simulated: bool
    amount: Decimal
    adjusts: UUID | None = None
    adjusts_number: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceView:
    """An issued invoice for [starts_at, ends_at); `number` is as printed, for example ``INV-000042``."""

    id: UUID
    tenant_id: UUID
    account_id: UUID
    account_name: str
    number: str
    state: str
    currency: str
    total: Decimal
    paid: Decimal
    zone: str
    starts_at: datetime
    ends_at: datetime
    issued_at: datetime
    content_hash: str
    simulated: bool
    lines: tuple[LineView, ...]
