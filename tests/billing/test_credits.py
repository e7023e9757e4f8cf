"""Tax and credit notes: pure."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.rating.credits import NothingToCredit, add_tax, credit_line, tax_lines
from billing.rating.money import round_half_up

NETS = [Decimal(net) for net in ("68.33", "68.33", "57.50", "85.00")]


def test_credit_notes_add_up_to_the_invoice() -> None:
    """Case 15."""
    lines = tax_lines(NETS, rate_percent=Decimal(20), currency="EUR")
    assert [str(line.tax) for line in lines] == ["13.67", "13.66", "11.50", "17.00"]
    credited: list[int] = []
    notes = []
    for index in range(4):
        notes.append(credit_line(lines, index=index, credited=credited).total)
        credited.append(index)
    assert [str(note) for note in notes] == ["82.00", "81.99", "69.00", "102.00"]
    assert str(sum(notes)) == "334.99"
    for index in (0, 4, -1):
        with pytest.raises(NothingToCredit):
            credit_line(lines, index=index, credited=credited)


def test_tax_is_on_the_rounded_line() -> None:
    """Case 16: 200.00 x 29/30 = 193.33; 25 % of that is 48.33."""
    line = add_tax(Decimal(200) * 29 / 30, rate_percent=Decimal(25), currency="EUR")
    assert (str(line.net), str(line.tax), str(line.total)) == ("193.33", "48.33", "241.66")


@given(st.lists(st.decimals("0.01", "1e6", places=2), min_size=1, max_size=30), st.decimals(0, 30, places=1))
def test_tax_shares_add_up_to_the_tax_on_the_sum(nets: list[Decimal], percent: Decimal) -> None:
    lines = tax_lines(nets, rate_percent=percent, currency="EUR")
    assert sum(line.tax for line in lines) == round_half_up(sum(nets) * percent / 100, "EUR")


def test_unrounded_nets_are_refused() -> None:
    with pytest.raises(ValueError, match="not whole"):
        tax_lines([Decimal("0.005")], rate_percent=Decimal(20), currency="EUR")
