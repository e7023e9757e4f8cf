"""Rounding, exponents and sharing out: pure."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.rating.money import (
    EXPONENTS,
    PriceTooFine,
    UnknownCurrency,
    canonical_price,
    exponent_of,
    from_minor,
    is_rounded,
    line_amount,
    round_half_up,
    share_out,
    to_minor,
    total_of,
)
from vxpu.money import DEVICE_HOUR

currencies = st.sampled_from(sorted(EXPONENTS))


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("123.5", "JPY", "124"),
        ("1.23456", "KWD", "1.235"),
        ("-2.345", "EUR", "-2.35"),
        ("2.345", "EUR", "2.35"),
        ("2.344999", "EUR", "2.34"),
        ("0.005", "EUR", "0.01"),
        ("-0.004", "EUR", "0.00"),
        ("1.00005", "CLF", "1.0001"),
    ],
)
def test_half_goes_away_from_zero_at_the_currencys_exponent(amount: str, currency: str, rounded: str) -> None:
    """Case 16."""
    assert str(round_half_up(Decimal(amount), currency)) == rounded


@pytest.mark.parametrize(
    ("share", "seconds", "amount"),
    [(250, 744 * 3600, "595.20"), (250, 1, "0.00"), (250, 86_400, "19.20"), (150, 3600, "0.48"), (400, 3600, "1.28")],
)
def test_fractions_are_not_integers(share: int, seconds: int, amount: str) -> None:
    """Case 13 at 3.20 a device-hour, and case 14's slices and idle."""
    got = line_amount(quantity=share * seconds, divisor=DEVICE_HOUR, unit_price=Decimal("3.20"), currency="EUR")
    assert str(got) == amount


def test_a_device_adds_up() -> None:
    """Case 14: four slices of 15 % and idle 40 %, or four dominant quarters, make the device's 3.20."""

    def cost(share: int) -> Decimal:
        return line_amount(quantity=share * 3600, divisor=DEVICE_HOUR, unit_price=Decimal("3.20"), currency="EUR")

    assert total_of([*[cost(150)] * 4, cost(400)], "EUR") == Decimal("3.20")
    assert total_of([cost(250)] * 4, "EUR") == Decimal("3.20")


def test_no_context_changes_an_amount() -> None:
    with localcontext() as context:
        context.prec = 4
        big = line_amount(quantity=2**62, divisor=1, unit_price=Decimal("1234567890.0123456789"), currency="EUR")
    assert to_minor(big, "EUR") == (2 * 2**62 * 12345678900123456789 + 10**8) // (2 * 10**8)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=9), currencies)
def test_rounding_agrees_with_the_standard(amount: Decimal, currency: str) -> None:
    with localcontext() as context:
        context.prec = 60
        standard = amount.quantize(Decimal(1).scaleb(-exponent_of(currency)), rounding=ROUND_HALF_UP)
    assert round_half_up(amount, currency) == standard
    assert is_rounded(round_half_up(amount, currency), currency)


@given(st.integers(-(10**30), 10**30), currencies)
def test_minor_units_go_there_and_back(minor: int, currency: str) -> None:
    assert to_minor(from_minor(minor, currency), currency) == minor


@given(st.integers(-(10**9), 10**9), st.lists(st.integers(0, 10**9), min_size=1, max_size=20).filter(any))
def test_shares_add_up_and_are_within_one_of_exact(total: int, weights: list[int]) -> None:
    parts = share_out(total, weights)
    assert sum(parts) == total
    exact = [Fraction(total * weight, sum(weights)) for weight in weights]
    assert all(abs(part - wanted) < 1 for part, wanted in zip(parts, exact, strict=True))
    assert share_out(-total, weights) == [-part for part in parts]


@pytest.mark.parametrize("weights", [[], [0], [1, -1, 5]])
def test_nothing_can_be_shared_by_no_weight(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="share"):
        share_out(1, weights)


def test_what_is_not_rounded_is_not_added() -> None:
    with pytest.raises(ValueError, match="not whole minor units"):
        total_of([Decimal("0.005"), Decimal("0.005")], "EUR")


def test_prices_have_one_form() -> None:
    assert str(canonical_price(Decimal("3.2"))) == str(canonical_price(Decimal("3.20"))) == "3.2000000000"
    for price in ("0.00000000001", "NaN", "Infinity"):
        with pytest.raises(PriceTooFine):
            canonical_price(Decimal(price))


def test_unknown_currencies_are_refused() -> None:
    with pytest.raises(UnknownCurrency):
        exponent_of("XXX")
    assert (exponent_of("JPY"), exponent_of("EUR"), exponent_of("KWD")) == (0, 2, 3)
