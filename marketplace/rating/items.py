"""From delivered and undelivered time to priced quantities.

The base is the dominant share (`vxpu.slices.dominant_permille`): a quantity is permille-seconds of it, so
used + idle of any piece is exactly dominant permille x seconds. Nothing is divided here (ADR 0004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from marketplace.rating.spans import Span, cut

Kind = Literal["used", "idle", "delivered", "reserved"]


class NoRate(ValueError):
    """No price covers a second that was delivered."""

    def __init__(self, at: datetime) -> None:
        super().__init__(f"no price is valid at {at.isoformat()}")
        self.at = at


@dataclass(frozen=True, slots=True)
class Rate:
    """A unit price per device-hour, valid in [valid_from, valid_until); None is open."""

    price_id: UUID
    unit_price: Decimal
    valid_from: datetime
    valid_until: datetime | None

    def covers(self, at: datetime) -> bool:
        return self.valid_from <= at and (self.valid_until is None or at < self.valid_until)


@dataclass(frozen=True, slots=True)
class Taken:
    """A share of one device over a span: delivered, or booked and not delivered."""

    span: Span
    dominant_permille: int
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A span with one share and one rate. Not `is_read`: the device could not tell what was used of it."""

    span: Span
    dominant_permille: int
    rate: Rate
    text: str
    is_read: bool = True

    @property
    def permille_s(self) -> int:
        return self.dominant_permille * self.span.seconds


@dataclass(frozen=True, slots=True)
class Item:
    kind: Kind
    span: Span
    quantity: int
    rate: Rate
    text: str


def split_at_prices(taken: Taken, *, ladder: Sequence[Sequence[Rate]]) -> list[Piece]:
    """Cut where a price starts or ends. `ladder` is most specific first; the first level that covers a piece wins.

    Price borders lie on whole seconds (the price book sees to that). Raises NoRate.
    """
    borders = [at for level in ladder for rate in level for at in (rate.valid_from, rate.valid_until) if at is not None]
    pieces: list[Piece] = []
    for span in cut(taken.span, borders=borders):
        rate = rate_at(span.starts_at, ladder=ladder)
        last = pieces[-1] if pieces else None
        if last and last.rate == rate:  # a border of a price that does not win is no border
            pieces[-1] = Piece(Span(last.span.starts_at, span.ends_at), taken.dominant_permille, rate, taken.text)
        else:
            pieces.append(Piece(span, taken.dominant_permille, rate, taken.text))
    return pieces


def rate_at(at: datetime, *, ladder: Sequence[Sequence[Rate]]) -> Rate:
    for level in ladder:
        for rate in level:
            if rate.covers(at):
                return rate
    raise NoRate(at)


def pour(amounts: Sequence[int], *, room: Sequence[int]) -> list[int]:
    """Level amounts into rooms, in order: what does not fit moves on, what is left at the end moves back.

    A usage window may straddle a price border and is counted where it starts; its surplus belongs next door. The sum
    is min(sum(amounts), sum(room)).
    """
    poured, over = [], 0
    for amount, space in zip(amounts, room, strict=True):
        poured.append(min(amount + over, space))
        over += amount - poured[-1]
    for index in range(len(poured) - 1, -1, -1):
        more = min(over, room[index] - poured[index])
        poured[index] += more
        over -= more
    return poured


def delivered_items(pieces: Sequence[Piece], *, used_permille_s: Sequence[int]) -> list[Item]:
    """`used` at most the dominant share, `idle` the rest; `delivered`, all of it, where no use could be read: unknown
    is not zero. `used_permille_s` is as metered, one a piece."""
    used = pour(used_permille_s, room=[piece.permille_s if piece.is_read else 0 for piece in pieces])
    items = []
    for piece, amount in zip(pieces, used, strict=True):
        if not piece.is_read:
            items.append(Item("delivered", piece.span, piece.permille_s, piece.rate, piece.text))
            continue
        items.append(Item("used", piece.span, amount, piece.rate, piece.text))
        items.append(Item("idle", piece.span, piece.permille_s - amount, piece.rate, piece.text))
    return [item for item in items if item.quantity]


def reserved_items(pieces: Sequence[Piece]) -> list[Item]:
    return [Item("reserved", piece.span, piece.permille_s, piece.rate, piece.text) for piece in pieces]
