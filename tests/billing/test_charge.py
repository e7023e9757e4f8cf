"""Charging: set semantics, revisions, and what the database refuses."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from billing import facade as billing
from billing.errors import BadCharge, SourceOfAnother, TimeChargedTwice
from billing.models import Charge
from tests.billing.factories import HOUR, NOON, amounts, charge, close, make_account, make_item
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")


def test_the_same_content_again_changes_nothing() -> None:
    account = make_account()
    first = charge(account, make_item())
    again = charge(account, make_item(quantity=100_000), make_item(quantity=800_000))
    assert (first.revision, first.added, first.changed) == (1, 1, True)
    assert (again.revision, again.changed) == (1, False)
    assert Charge.objects.count() == 1


def test_other_content_is_a_reversal_and_a_revision() -> None:
    account = make_account()
    charge(account, make_item(quantity=900_000))
    outcome = charge(account, make_item(quantity=720_000))
    rows = Charge.objects.order_by("revision", "quantity").values_list("revision", "quantity", "superseded")
    assert (outcome.revision, outcome.reversed, outcome.added) == (2, 1, 1)
    assert list(rows) == [(1, 900_000, True), (2, -900_000, False), (2, 720_000, False)]
    assert billing.charged_amount(sources=[UUID(int=1)], starts_at=NOON, ends_at=NOON + HOUR) == Decimal("0.64")


def test_going_back_to_an_earlier_content_is_a_third_revision() -> None:
    account = make_account()
    for quantity in (900_000, 720_000, 900_000):
        outcome = charge(account, make_item(quantity=quantity))
    assert outcome.revision == 3
    assert billing.charged_amount(sources=[UUID(int=1)], starts_at=NOON, ends_at=NOON + HOUR) == Decimal("0.80")


def test_an_empty_set_takes_all_back() -> None:
    account = make_account()
    charge(account, make_item())
    assert charge(account, bucket=NOON).reversed == 1
    assert amounts(close(account)) == []


def test_a_price_change_inside_an_hour_makes_two_items_with_two_prices() -> None:
    """Case 6: 1.00 until 12:30, 1.20 after: 0.50 + 0.60 = 1.10."""
    half = NOON + HOUR / 2
    account = make_account()
    charge(
        account,
        make_item(ends_at=half, quantity=1_800_000, unit_price=Decimal("1.00"), price_id=UUID(int=1)),
        make_item(starts_at=half, quantity=1_800_000, unit_price=Decimal("1.20"), price_id=UUID(int=2)),
    )
    invoice = close(account)
    assert amounts(invoice) == ["0.50", "0.60"]
    assert [line.price_id.int for line in invoice.lines] == [1, 2]
    assert str(invoice.total) == "1.10"


def test_other_buckets_and_sources_are_left_alone() -> None:
    account = make_account()
    charge(account, make_item())
    charge(account, make_item(), source=UUID(int=2))
    charge(account, make_item(starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR))
    assert charge(account, bucket=NOON).reversed == 1
    assert Charge.objects.filter(superseded=False, reverses=None).count() == 2


@pytest.mark.parametrize(
    "over",
    [
        {"kind": "stolen"},
        {"quantity": -1},
        {"quantity": 2**63},
        {"divisor": 0},
        {"unit_price": Decimal(-1)},
        {"unit_price": Decimal("0.00000000001")},
        {"unit_price": Decimal("NaN")},
        {"ends_at": NOON},
        {"text": " "},
        {"text": "x" * 501},
        {"text": "nul \0"},
        {"starts_at": NOON.replace(tzinfo=None)},
    ],
)
def test_impossible_items_are_refused_and_nothing_is_stored(over: dict[str, object]) -> None:
    account = make_account()
    with pytest.raises(BadCharge):
        charge(account, make_item(**over), bucket=NOON)
    assert Charge.objects.count() == 0


def test_the_same_second_is_not_charged_twice_in_one_set() -> None:
    with pytest.raises(BadCharge, match="twice"):
        charge(make_account(), make_item(), make_item(starts_at=NOON + HOUR / 2, text="another text"))


def test_the_same_second_is_not_charged_twice_by_two_buckets() -> None:
    account = make_account()
    charge(account, make_item())
    with pytest.raises(TimeChargedTwice):
        charge(account, make_item(), bucket=NOON - HOUR)
    assert charge(account, make_item(), bucket=NOON).changed is False


def test_a_source_has_one_account() -> None:
    charge(make_account(), make_item())
    other = make_account()
    with pytest.raises(SourceOfAnother):
        charge(other, make_item())
    with pytest.raises(SourceOfAnother), transaction.atomic():
        billing.charge(
            account_id=other.id, tenant_id=new_uuid(), source=UUID(int=9), bucket=NOON, items=[make_item()], now=NOON
        )


@pytest.mark.parametrize(
    "change",
    [{"quantity": 1}, {"superseded": True}, {"unit_price": 0}, {"ends_at": NOON + 2 * HOUR}, {"text": "other"}],
)
def test_the_database_refuses_to_change_a_charge(change: dict[str, object]) -> None:
    charge(make_account(), make_item())
    with pytest.raises(IntegrityError, match="reverse it"), transaction.atomic():
        Charge.objects.update(**change)


def test_the_database_refuses_to_delete_a_charge() -> None:
    charge(make_account(), make_item())
    with pytest.raises(IntegrityError, match="refused"), transaction.atomic():
        Charge.objects.all().delete()


def test_the_database_refuses_a_second_or_partial_reversal() -> None:
    account = make_account()
    charge(account, make_item())
    row = Charge.objects.get()
    original, row.pk, row.reverses_id, row.quantity = row.pk, new_uuid(), row.pk, -1
    with pytest.raises(IntegrityError, match="takes back one live charge whole"), transaction.atomic():
        row.save(force_insert=True)
    charge(account, bucket=NOON)
    row.quantity = -Charge.objects.get(pk=original).quantity
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_the_database_refuses_to_rate_twice() -> None:
    charge(make_account(), make_item())
    row = Charge.objects.get()
    row.pk = new_uuid()
    with pytest.raises(IntegrityError, match=r"billing_charge_(rated|time)_once"), transaction.atomic():
        row.save(force_insert=True)


def test_amounts_of_a_part_of_the_time_are_in_proportion() -> None:
    charge(make_account(), make_item())
    half = billing.charged_amount(sources=[UUID(int=1)], starts_at=NOON - HOUR, ends_at=NOON + HOUR / 2)
    assert half == Decimal("0.40")
    assert billing.charged_amount(sources=[UUID(int=3)], starts_at=NOON, ends_at=NOON + HOUR) == 0
