"""A range in parts: charges and invoice lines cut at the borders, so that the parts add up to the whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import lcm
from uuid import UUID

from billing.rating.money import from_minor, price_of, share_out, to_minor
from billing.rating.proration import split_item
from vxpu.money import ChargeItem, CostCell, InvoicedCell, LineView

Key = tuple[UUID, str, Decimal]
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity at a price in one part of a range. `cell` -1 is before it, len(edges) - 1 after."""

    source: UUID
    kind: str
    unit_price: Decimal
    divisor: int
    cell: int
    quantity: int

    @property
    def exact(self) -> Fraction:
        return price_of(quantity=self.quantity, divisor=self.divisor, unit_price=self.unit_price)


def cell_of(at: datetime, edges: Sequence[datetime]) -> int:
    """Which part [edges[i], edges[i + 1]) the instant lies in."""
    return bisect_right(edges, at) - 1


def cut(source: UUID, item: ChargeItem, edges: Sequence[datetime]) -> Iterator[Amount]:
    """A charge that lies across borders, in proportion to time by largest remainder."""
    for part in split_item(item, edges):
        cell = cell_of(part.starts_at, edges)
        yield Amount(source, item.kind, item.unit_price, item.divisor, cell, part.quantity)


def cost_cells(amounts: Iterable[Amount], *, cells: int) -> list[CostCell]:
    """Added up over prices; what lies outside the range is left out."""
    quantities: dict[tuple[UUID, str, int], int] = {}
    exact: dict[tuple[UUID, str, int], Fraction] = {}
    for amount in amounts:
        if 0 <= amount.cell < cells:
            key = amount.source, amount.kind, amount.cell
            quantities[key] = quantities.get(key, 0) + amount.quantity
            exact[key] = exact.get(key, Fraction(0)) + amount.exact
    return [
        CostCell(source=source, kind=kind, cell=cell, quantity=quantities[source, kind, cell], amount=amount)
        for (source, kind, cell), amount in exact.items()
    ]


def weights_of(amounts: Iterable[Amount]) -> dict[Key, dict[int, Fraction]]:
    """How much was charged at which price in which part."""
    found: dict[Key, dict[int, Fraction]] = {}
    for amount in amounts:
        parts = found.setdefault((amount.source, amount.kind, amount.unit_price), {})
        parts[amount.cell] = parts.get(amount.cell, Fraction(0)) + amount.exact
    return found


def spread(
    line: LineView, edges: Sequence[datetime], weights: Mapping[Key, Mapping[int, Fraction]], *, currency: str
) -> list[InvoicedCell]:
    """A rounded line over the parts that its service touches, as it was charged there; by time if nothing was.

    `edges` reach beyond the line at both ends, so that nothing of it is lost.
    """
    first, last = cell_of(line.starts_at, edges), cell_of(line.ends_at - _MICROSECOND, edges)
    cells = range(first, last + 1)
    charged = weights.get((line.source, line.kind, line.unit_price), {})
    shares = [charged.get(cell, Fraction(0)) for cell in cells]
    if not any(shares):
        shares = [Fraction(_overlap(line, edges[cell], edges[cell + 1])) for cell in cells]
    common = lcm(*(share.denominator for share in shares))
    parts = share_out(to_minor(line.amount, currency), [int(share * common) for share in shares])
    return [
        InvoicedCell(source=line.source, kind=line.kind, cell=cell, amount=from_minor(part, currency))
        for cell, part in zip(cells, parts, strict=True)
    ]


def _overlap(line: LineView, starts_at: datetime, ends_at: datetime) -> int:
    """Microseconds."""
    return (min(line.ends_at, ends_at) - max(line.starts_at, starts_at)) // _MICROSECOND
