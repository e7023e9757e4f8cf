"""The only place where money is rounded, and how a rounded total is shared out without losing a cent.

Half-up means half away from zero (-2.345 -> -2.35). All of it runs on integers of the minor unit, so that neither the
precision nor the traps of a decimal context can change an amount.
Source of the exponents: ISO 4217, list one (amendment 176).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import floor

PRICE_PLACES = 10
# Decimals beyond the minor unit at which an amount is shown that no invoice has rounded yet.
FINE_PLACES = 2

# Shifts a point in integers of any size that fits a NUMERIC here; nothing is rounded in it.
_WIDE = Context(prec=60)
_TWO = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP "
    "CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR "
    "IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN "
    "NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
    "STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG"
)
_ZERO = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THREE = "BHD IQD JOD KWD LYD OMR TND"
_FOUR = "CLF UYW"
EXPONENTS: dict[str, int] = {
    code: exponent for exponent, codes in ((0, _ZERO), (2, _TWO), (3, _THREE), (4, _FOUR)) for code in codes.split()
}


class UnknownCurrency(ValueError):
    """Not an ISO 4217 code that we can bill in."""


class PriceTooFine(ValueError):
    """A unit price with more than ten decimals, or not a number."""


def exponent_of(currency: str) -> int:
    """Decimals of the minor unit: JPY 0, EUR 2, KWD 3. Raises UnknownCurrency."""
    try:
        return EXPONENTS[currency]
    except KeyError:
        raise UnknownCurrency(f"{currency!r} is not a currency that we bill in") from None


def _scale(currency: str) -> int:
    return int(10 ** exponent_of(currency))


def from_minor(minor: int, currency: str) -> Decimal:
    """1840, "EUR" -> Decimal("18.40"); exact at any size."""
    digits = tuple(int(digit) for digit in str(abs(minor)))
    return Decimal((int(minor < 0), digits, -exponent_of(currency)))


def round_minor(amount: Fraction) -> int:
    """Half-up (half away from zero) to a whole number of minor units. Every rounding of money ends here."""
    numerator, denominator = abs(amount.numerator), amount.denominator
    magnitude = (2 * numerator + denominator) // (2 * denominator)
    return -magnitude if amount < 0 else magnitude


def to_minor(amount: Decimal | Fraction, currency: str) -> int:
    """The amount in minor units, rounded half-up."""
    return round_minor(Fraction(amount) * _scale(currency))


def round_half_up(amount: Decimal | Fraction, currency: str) -> Decimal:
    """123.5 JPY -> 124; 1.23456 KWD -> 1.235; -2.345 EUR -> -2.35."""
    return from_minor(to_minor(amount, currency), currency)


def round_fine(amount: Decimal | Fraction, currency: str) -> Decimal:
    """The amount at two decimals beyond the minor unit: for showing what is not invoiced yet, never for billing."""
    return Decimal(round_minor(Fraction(amount) * _scale(currency) * 10**FINE_PLACES)).scaleb(
        -exponent_of(currency) - FINE_PLACES, context=_WIDE
    )


def is_rounded(amount: Decimal, currency: str) -> bool:
    """Whether the amount is a whole number of minor units already."""
    return (Fraction(amount) * _scale(currency)).denominator == 1


def canonical_price(unit_price: Decimal) -> Decimal:
    """The same price at exactly ten decimals, so that equal prices have equal bytes. Raises PriceTooFine."""
    if not unit_price.is_finite():
        raise PriceTooFine(f"{unit_price} is not a price")
    scaled = Fraction(unit_price) * 10**PRICE_PLACES
    if scaled.denominator != 1:
        raise PriceTooFine(f"{unit_price} has more than {PRICE_PLACES} decimals")
    digits = tuple(int(digit) for digit in str(abs(scaled.numerator)))
    return Decimal((int(scaled < 0), digits, -PRICE_PLACES))


def price_of(*, quantity: int, divisor: int, unit_price: Decimal) -> Fraction:
    """quantity x unit_price / divisor, exact and not yet rounded."""
    return Fraction(unit_price) * quantity / divisor


def line_amount(*, quantity: int, divisor: int, unit_price: Decimal, currency: str) -> Decimal:
    """The amount of one line: divided and rounded half-up, once."""
    return round_half_up(price_of(quantity=quantity, divisor=divisor, unit_price=unit_price), currency)


def total_of(amounts: Sequence[Decimal], currency: str) -> Decimal:
    """The sum of rounded amounts. Raises ValueError for one that is not: nothing is rounded twice in silence."""
    if unrounded := [amount for amount in amounts if not is_rounded(amount, currency)]:
        raise ValueError(f"not whole minor units of {currency}: {unrounded}")
    return from_minor(sum(to_minor(amount, currency) for amount in amounts), currency)


def share_fine(amounts: Sequence[Fraction], currency: str) -> list[Decimal]:
    """Amounts that are not negative, each at two decimals beyond the minor unit, that add up to their exact sum
    rounded there once (by largest remainder): however a total is grouped, it is the same total."""
    places = exponent_of(currency) + FINE_PLACES
    scaled = [amount * 10**places for amount in amounts]
    parts = [floor(amount) for amount in scaled]
    by_remainder = sorted(range(len(parts)), key=lambda at: (parts[at] - scaled[at], at))
    for at in by_remainder[: round_minor(sum(scaled, Fraction(0))) - sum(parts)]:
        parts[at] += 1
    return [Decimal(part).scaleb(-places, context=_WIDE) for part in parts]


def share_out(total: int, weights: Sequence[int]) -> list[int]:
    """Splits an integer in proportion to the weights by largest remainder: the parts add up to `total` exactly.

    Equal remainders go to the earlier part. Works for a negative total. Raises ValueError for weights that are
    negative or add up to nothing.
    """
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise ValueError(f"cannot share by the weights {list(weights)}")
    magnitude = abs(total)
    parts = [magnitude * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: (-(magnitude * weights[at] % whole), at))
    for at in by_remainder[: magnitude - sum(parts)]:
        parts[at] += 1
    return [-part for part in parts] if total < 0 else parts
