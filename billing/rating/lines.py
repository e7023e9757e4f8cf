"""From charges to invoice lines: quantities are added as integers, then divided and rounded half-up once per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing.rating.money import line_amount
from vxpu.money import ChargeKind

KIND_ORDER = [str(kind) for kind in ChargeKind]
MeterOrder = tuple[str, int, bytes, Decimal, int, bytes, bool]


@dataclass(frozen=True, slots=True)
class Meter:
    """What makes one line: charges that agree in all of this are added up before they are divided."""

    source: UUID
    kind: str
    price_id: UUID
    unit_price: Decimal
    divisor: int
    text: str
    simulated: bool

    @property
    def order(self) -> MeterOrder:
        money = self.unit_price, self.divisor
        return self.text, KIND_ORDER.index(self.kind), self.price_id.bytes, *money, self.source.bytes, self.simulated


@dataclass(frozen=True, slots=True)
class Entry:
    """A live charge as rating sees it."""

    meter: Meter
    starts_at: datetime
    ends_at: datetime
    quantity: int


@dataclass(frozen=True, slots=True)
class Line:
    """One rounded amount over the service range that its charges span."""

    meter: Meter
    starts_at: datetime
    ends_at: datetime
    quantity: int
    amount: Decimal

    @property
    def order(self) -> tuple[datetime, bool, MeterOrder]:
        """By service time; a line taken back comes before what replaces it."""
        return self.starts_at, self.quantity >= 0, self.meter.order


def rate(entries: Iterable[Entry], *, currency: str) -> list[Line]:
    """One line a meter, over the service range that its entries span. Any order or batching gives the same lines.

    A line with quantity 0 is kept: time that costs nothing is shown, not hidden.
    """
    by_meter: dict[Meter, list[Entry]] = {}
    for entry in entries:
        by_meter.setdefault(entry.meter, []).append(entry)
    lines = []
    for meter, parts in by_meter.items():
        quantity = sum(part.quantity for part in parts)
        amount = line_amount(quantity=quantity, divisor=meter.divisor, unit_price=meter.unit_price, currency=currency)
        starts_at, ends_at = min(part.starts_at for part in parts), max(part.ends_at for part in parts)
        lines.append(Line(meter, starts_at, ends_at, quantity, amount))
    return sorted(lines, key=lambda line: line.order)


def billed_state(lines: Iterable[Line]) -> dict[Meter, Line]:
    """What earlier invoices bill for one service period in sum, meter by meter; fully taken back ones are left out."""
    state: dict[Meter, Line] = {}
    for line in lines:
        before = state.get(line.meter)
        if before is None:
            state[line.meter] = line
        elif before.quantity + line.quantity or before.amount + line.amount:
            latest = line if line.quantity >= 0 else before
            state[line.meter] = Line(
                line.meter, latest.starts_at, latest.ends_at,
                before.quantity + line.quantity, before.amount + line.amount,
            )  # fmt: skip
        else:
            del state[line.meter]
    return state


def adjust(current: Sequence[Line], billed: Mapping[Meter, Line]) -> list[Line]:
    """The lines that turn what was billed into what is right: each changed line is taken back whole and billed anew.

    Taking back the whole line, not the difference, keeps "rounded once" true for the corrected quantity. A line of
    quantity 0 corrects nothing and is left out.
    """
    wanted = {line.meter: line for line in current}
    lines = []
    for meter in wanted.keys() | billed.keys():
        old, new = billed.get(meter), wanted.get(meter)
        if old and new and (old.quantity, old.amount) == (new.quantity, new.amount):
            continue
        if old and old.quantity:
            lines.append(Line(meter, old.starts_at, old.ends_at, -old.quantity, -old.amount))
        if new and new.quantity:
            lines.append(new)
    return sorted(lines, key=lambda line: line.order)
