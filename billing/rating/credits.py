"""Tax and credit notes that add up: tax is computed on the sum of rounded lines and shared out by largest remainder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from billing.rating.money import from_minor, round_half_up, round_minor, share_out, to_minor, total_of


class NothingToCredit(ValueError):
    """The line was credited before, or there is no such line."""


@dataclass(frozen=True, slots=True)
class TaxedLine:
    """A rounded net amount with its share of the tax."""

    net: Decimal
    tax: Decimal

    @property
    def total(self) -> Decimal:
        return self.net + self.tax


def tax_lines(nets: Sequence[Decimal], *, rate_percent: Decimal, currency: str) -> list[TaxedLine]:
    """One tax category: the tax on the sum, rounded once, shared so that the parts add up to it."""
    minors = [to_minor(net, currency) for net in nets]
    if total_of(nets, currency) != from_minor(sum(minors), currency):
        raise ValueError("nets must be rounded")
    tax = round_minor(Fraction(sum(minors)) * Fraction(rate_percent) / 100)
    shares = share_out(tax, minors)
    return [TaxedLine(net, from_minor(share, currency)) for net, share in zip(nets, shares, strict=True)]


def add_tax(net: Decimal, *, rate_percent: Decimal, currency: str) -> TaxedLine:
    """200.00 x 29/30 is 193.33; at 25 % the tax is 48.33: on the rounded line, not on the exact one."""
    rounded = round_half_up(net, currency)
    return TaxedLine(rounded, round_half_up(Fraction(rounded) * Fraction(rate_percent) / 100, currency))


def credit_line(lines: Sequence[TaxedLine], *, index: int, credited: Collection[int]) -> TaxedLine:
    """The credit note for one line of an issued invoice. Raises NothingToCredit."""
    if index in credited or not 0 <= index < len(lines):
        raise NothingToCredit(f"line {index + 1} has nothing left to credit")
    return lines[index]
