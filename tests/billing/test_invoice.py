"""An invoice: one an account and period, gapless, fixed once issued, corrected by the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from billing import facade as billing
from billing.errors import NoAccount, PaymentTooLarge, PeriodNotContiguous, PeriodNotOver, PeriodOverlaps
from billing.exports.document import content_hash
from billing.models import Charge, Invoice, InvoiceLine, InvoiceState, NumberSeries
from billing.models.invoice import ALLOWED
from plumbing.errors import Invalid, NotFound
from tests.billing.factories import HOUR, NOON, amounts, charge, close, make_account, make_item
from vxpu.ids import new_uuid
from vxpu.money import AccountView

pytestmark = pytest.mark.usefixtures("system")
SECOND_HOUR = (NOON + HOUR, NOON + 2 * HOUR)


def test_one_line_for_each_kind_divided_once() -> None:
    account = make_account()
    for minute in range(60):
        at = NOON + timedelta(minutes=minute)
        end = at + timedelta(minutes=1)
        charge(
            account,
            make_item(kind="used", starts_at=at, ends_at=end, quantity=100 * 60),
            make_item(kind="idle", starts_at=at, ends_at=end, quantity=150 * 60),
            make_item(kind="reserved", starts_at=at, ends_at=end, quantity=250 * 60, unit_price=Decimal(0)),
            bucket=at,
        )
    invoice = close(account)
    assert [(line.kind, line.quantity, str(line.amount)) for line in invoice.lines] == [
        ("used", 360_000, "0.32"), ("idle", 540_000, "0.48"), ("reserved", 900_000, "0.00"),
    ]  # fmt: skip
    assert (str(invoice.total), invoice.currency) == ("0.80", "EUR")
    assert {(line.starts_at, line.ends_at) for line in invoice.lines} == {(NOON, NOON + HOUR)}


def test_the_same_close_again_returns_the_same_invoice() -> None:
    account = make_account()
    charge(account, make_item())
    first = close(account)
    assert close(account) == first == billing.get_invoice(tenant_id=account.tenant_id, invoice_id=first.id)
    assert billing.list_invoices(tenant_id=account.tenant_id) == [first]
    assert Invoice.objects.count() == 1


def test_numbers_follow_each_other_and_the_hash_covers_the_content() -> None:
    ada, bo = make_account(), make_account(name="Bo Works")
    charge(ada, make_item())
    invoices = [close(ada), close(bo)]
    assert [invoice.number for invoice in invoices] == ["INV-000001", "INV-000002"]
    assert all(content_hash(invoice) == invoice.content_hash for invoice in invoices)
    assert NumberSeries.objects.get().last_number == 2


def test_an_invoice_posts_to_the_ledger() -> None:
    account = make_account()
    charge(account, make_item())
    close(account)
    rows = billing.trial_balance(tenant_id=account.tenant_id)
    assert [(row.code, str(row.balance)) for row in rows] == [("receivable", "0.80"), ("revenue", "-0.80")]


def test_an_empty_period_has_an_invoice_of_nothing() -> None:
    account = make_account()
    invoice = close(account)
    assert (str(invoice.total), invoice.lines, billing.trial_balance(tenant_id=account.tenant_id)) == ("0.00", (), [])


def test_periods_adjoin() -> None:
    account = make_account()
    close(account)
    with pytest.raises(PeriodOverlaps):
        close(account, NOON - HOUR, NOON + HOUR)
    with pytest.raises(PeriodNotContiguous) as refusal:
        close(account, NOON + HOUR + timedelta(seconds=1), NOON + 2 * HOUR)
    assert refusal.value.data == {"expected": (NOON + HOUR).isoformat()}
    with pytest.raises(Invalid):
        close(account, NOON + HOUR, NOON + HOUR)
    with pytest.raises(PeriodNotOver):
        billing.close_period(
            tenant_id=account.tenant_id, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR, now=NOON + HOUR
        )
    with pytest.raises(NoAccount):
        billing.close_period(tenant_id=new_uuid(), starts_at=NOON, ends_at=NOON + HOUR, now=NOON + HOUR)
    assert close(account, *SECOND_HOUR).lines == ()


def test_a_late_correction_comes_on_the_next_invoice() -> None:
    """Case 9's shape: the billed line is taken back whole and billed anew, with the old service period and a link."""
    account = make_account()
    charge(account, make_item(quantity=900_000))
    first = close(account)
    charge(account, make_item(quantity=450_000))
    charge(account, make_item(starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR))
    second = close(account, *SECOND_HOUR)
    assert [(str(line.amount), line.starts_at, line.adjusts) for line in second.lines] == [
        ("-0.80", NOON, first.id), ("0.40", NOON, first.id), ("0.80", NOON + HOUR, None),
    ]  # fmt: skip
    assert second.lines[0].adjusts_number == first.number
    assert str(second.total) == "0.40"
    again = billing.get_invoice(tenant_id=account.tenant_id, invoice_id=first.id)
    assert (again, content_hash(again)) == (first, first.content_hash)


def test_a_correction_is_rounded_as_if_it_had_been_right_at_once() -> None:
    """1/3 of a cent late, three times: each alone would round to nothing."""
    account = make_account()
    charge(account, make_item(quantity=1, divisor=3, unit_price=Decimal("0.01")))
    assert amounts(close(account)) == ["0.00"]
    for index in range(1, 5):
        charge(account, make_item(quantity=1 + index, divisor=3, unit_price=Decimal("0.01")))
        close(account, NOON + index * HOUR, NOON + (index + 1) * HOUR)
    billed = sum(line.amount for line in InvoiceLine.objects.all())
    assert billed == Decimal("0.02")  # 5/3 of a cent
    right = billing.charged_amount(sources=[UUID(int=1)], starts_at=NOON, ends_at=NOON + HOUR)
    assert right == billed


def test_what_was_taken_back_before_the_close_is_not_on_the_invoice() -> None:
    account = make_account()
    for quantity in (100, 200, 900_000):
        charge(account, make_item(quantity=quantity))
    charge(account, make_item(), source=UUID(int=2))
    charge(account, source=UUID(int=2), bucket=NOON)
    assert amounts(close(account)) == ["0.80"]
    assert Charge.objects.filter(invoice=None).count() == 0
    assert amounts(close(account, *SECOND_HOUR)) == []


def test_a_line_taken_back_before_it_was_seen_again_nets_out() -> None:
    account = make_account()
    charge(account, make_item(quantity=900_000))
    close(account)
    for quantity in (1, 900_000):
        charge(account, make_item(quantity=quantity))
    assert amounts(close(account, *SECOND_HOUR)) == []
    charge(account, make_item(quantity=450_000))
    assert amounts(close(account, NOON + 2 * HOUR, NOON + 3 * HOUR)) == ["-0.80", "0.40"]


def test_a_charge_that_comes_late_is_billed_with_its_old_period() -> None:
    account = make_account()
    first = close(account)
    charge(account, make_item())
    line = close(account, *SECOND_HOUR).lines[0]
    assert (str(line.amount), line.starts_at, line.adjusts) == ("0.80", NOON, first.id)
    assert amounts(close(account, NOON + 2 * HOUR, NOON + 3 * HOUR)) == []


def test_a_charge_from_before_the_first_period_is_not_lost() -> None:
    account = make_account()
    charge(account, make_item(starts_at=NOON - HOUR, ends_at=NOON))
    charge(account, make_item())
    assert amounts(close(account)) == ["1.60"]
    charge(account, bucket=NOON - HOUR)
    assert amounts(close(account, *SECOND_HOUR)) == ["-1.60", "0.80"]


def test_a_charge_across_the_border_is_cut_there() -> None:
    account = make_account()
    half = NOON + HOUR / 2
    charge(account, make_item(quantity=900_001))
    assert [line.quantity for line in close(account, NOON, half).lines] == [450_001]
    assert charge(account, make_item(quantity=900_001)).changed is False
    assert [line.quantity for line in close(account, half, NOON + HOUR).lines] == [450_000]


def test_a_charge_is_cut_at_the_border_of_the_local_month() -> None:
    """In India midnight is 18:30 UTC, in the middle of an hour bucket."""
    account = make_account(zone="Asia/Kolkata")
    at = datetime(2026, 6, 30, 18, tzinfo=UTC)
    charge(account, make_item(starts_at=at, ends_at=at + HOUR))
    assert sorted(Charge.objects.values_list("quantity", flat=True)) == [450_000, 450_000]
    assert billing.period_borders(account_id=account.id, starts_at=at, ends_at=at + HOUR) == [at + HOUR / 2]


def test_a_simulated_device_says_so_on_the_bill() -> None:
    account = make_account()
    charge(account, make_item(simulated=True), make_item(kind="idle"))
    invoice = close(account)
    assert invoice.simulated
    assert [(line.kind, line.simulated) for line in invoice.lines] == [("used", True), ("idle", False)]


def test_an_amount_has_the_decimals_of_its_currency() -> None:
    for currency, expected in (("JPY", "124"), ("KWD", "123.500"), ("EUR", "123.50")):
        account = make_account(currency=currency)
        charge(account, make_item(quantity=1, divisor=1, unit_price=Decimal("123.5")), source=account.id)
        assert amounts(close(account)) == [expected]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE billing_invoice SET total = total + 1",
        "UPDATE billing_invoice SET number = number + 1",
        "UPDATE billing_invoice SET state = 'draft', number = NULL, issued_at = NULL, content_hash = ''",
        "UPDATE billing_invoice SET state = 'void'",
        "UPDATE billing_invoice SET content_hash = repeat('0', 64)",
        "DELETE FROM billing_invoice",
        "UPDATE billing_invoice_line SET amount = amount + 1",
        "DELETE FROM billing_invoice_line",
        "UPDATE billing_number_series SET last_number = last_number - 1",
        "UPDATE billing_number_series SET last_number = last_number + 2",
        "DELETE FROM billing_number_series",
        "UPDATE billing_charge SET invoice_id = NULL",
    ],
)
def test_the_database_keeps_an_issued_invoice_as_it_is(statement: str) -> None:
    account = make_account()
    charge(account, make_item())
    close(account)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(IntegrityError), transaction.atomic():
            cursor.execute(statement)


def test_the_database_refuses_a_line_for_an_issued_invoice() -> None:
    account = make_account()
    charge(account, make_item())
    close(account)
    line = InvoiceLine.objects.get()
    line.pk, line.position = new_uuid(), 2
    with pytest.raises(IntegrityError, match="fixed"), transaction.atomic():
        line.save(force_insert=True)


@pytest.mark.parametrize(
    ("over", "message"),
    [({"total": 1}, "sum of the lines"), ({"number": 5}, "last of its series"), ({"state": "paid"}, "issued first")],
)
def test_the_database_issues_only_what_adds_up(over: dict[str, object], message: str) -> None:
    account = make_account()
    issued = close(account)
    draft = Invoice.objects.get(pk=issued.id)
    draft.pk, draft.kind, draft.state, draft.number = new_uuid(), "credit_note", "draft", None
    draft.issued_at, draft.content_hash = None, ""
    draft.save(force_insert=True)
    wanted = {"state": "issued", "number": 1, "issued_at": NOON, "content_hash": "0" * 64, **over}
    with pytest.raises(IntegrityError, match=message), transaction.atomic():
        Invoice.objects.filter(pk=draft.pk).update(**wanted)


def pay(account: AccountView, invoice_id: UUID, amount: str, key: str) -> tuple[str, str]:
    paid = billing.pay_invoice(invoice_id=invoice_id, amount=Decimal(amount), key=key, now=NOON + 3 * HOUR)
    return paid.state, str(paid.paid)


def test_only_payments_move_an_issued_invoice() -> None:
    account = make_account()
    charge(account, make_item())
    invoice = close(account)
    assert pay(account, invoice.id, "0.30", "first") == ("part_paid", "0.30")
    assert pay(account, invoice.id, "0.30", "first") == ("part_paid", "0.30")
    with pytest.raises(PaymentTooLarge):
        pay(account, invoice.id, "0.51", "second")
    assert pay(account, invoice.id, "0.50", "second") == ("paid", "0.80")
    paid = billing.get_invoice(tenant_id=account.tenant_id, invoice_id=invoice.id)
    assert content_hash(paid) == invoice.content_hash
    with pytest.raises(NotFound):
        pay(account, new_uuid(), "1.00", "third")


class Undo(Exception):
    """Takes a try back."""


def database_allows(invoice_id: UUID, state: str) -> bool:
    try:
        with transaction.atomic():
            Invoice.objects.filter(pk=invoice_id).update(state=state)
            raise Undo  # noqa: TRY301 - this is how a savepoint is taken back
    except Undo:
        return True
    except IntegrityError:
        return False


@pytest.mark.parametrize("steps", [(), ("part_paid",), ("overdue",), ("paid",), ("overdue", "part_paid", "paid")])
def test_the_database_and_the_model_allow_the_same_moves(steps: tuple[str, ...]) -> None:
    invoice = close(make_account())
    for step in steps:
        Invoice.objects.filter(pk=invoice.id).update(state=step)
    now = InvoiceState(steps[-1] if steps else "issued")
    others = [state for state in InvoiceState if state != now]
    assert {state for state in others if database_allows(invoice.id, state)} == ALLOWED[now]


def test_another_tenant_does_not_find_it() -> None:
    invoice = close(make_account())
    with pytest.raises(NotFound):
        billing.get_invoice(tenant_id=new_uuid(), invoice_id=invoice.id)
