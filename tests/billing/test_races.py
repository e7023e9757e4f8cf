"""Two workers at once, with real commits: one invoice, no gap, no charge lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from billing import facade as billing
from billing.errors import PeriodClosed, PeriodOverlaps
from billing.models import Charge, Invoice, NumberSeries, Txn
from billing.services import close_period as closing
from plumbing.db import TransactionMissing
from tests.billing.factories import HOUR, NOON, charge, close, make_account, make_item
from tests.racing import OtherConnection, race
from vxpu.money import AccountView

pytestmark = pytest.mark.usefixtures("committed_system")


def numbers() -> list[int]:
    found = Invoice.objects.order_by("number").values_list("number", flat=True)
    return [number for number in found if number is not None]


def test_eight_workers_issue_for_twenty_accounts_without_a_gap() -> None:
    """Case 18."""
    accounts = [make_account(name=f"Tenant {index}") for index in range(20)]
    for account in accounts:
        charge(account, make_item(), source=account.id)

    def work(share: int) -> list[str]:
        return [close(account).number for account in accounts[share % 4 :: 4]]

    outcomes = race(*(partial(work, share) for share in range(8)))
    assert all(isinstance(outcome, list) for outcome in outcomes), outcomes
    assert outcomes[:4] == outcomes[4:]
    assert numbers() == list(range(1, 21))
    assert Txn.objects.count() == 20


def test_workers_that_close_the_same_period_get_the_same_invoice() -> None:
    account = make_account()
    charge(account, make_item())
    outcomes = race(*(partial(close, account) for _ in range(6)))
    assert len({invoice.id for invoice in outcomes}) == 1
    assert numbers() == [1]
    assert {str(invoice.total) for invoice in outcomes} == {"0.80"}


def test_of_two_overlapping_periods_one_wins() -> None:
    account = make_account()
    outcomes = race(partial(close, account), partial(close, account, NOON, NOON + 2 * HOUR))
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["InvoiceView", "PeriodOverlaps"]
    assert any(isinstance(outcome, PeriodOverlaps) for outcome in outcomes)
    assert numbers() == [1]


def test_a_rollback_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 18: the process fails after the number was taken."""
    ada, bo = make_account(), make_account(name="Bo Works")
    charge(ada, make_item())

    def fail(*args: Any) -> None:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patched:
        patched.setattr(closing, "_close", fail)
        with pytest.raises(RuntimeError, match="plug"):
            close(ada)
    assert (NumberSeries.objects.get().last_number, Txn.objects.count(), numbers()) == (0, 0, [])
    assert Charge.objects.get().invoice_id is None
    assert [close(bo).number, close(ada).number] == ["INV-000001", "INV-000002"]


def test_eight_senders_of_the_same_charges_make_one_revision() -> None:
    """Case 8, the charge's side: whatever is sent, the time is charged once."""
    account = make_account()
    items = [make_item(quantity=900_000), make_item(quantity=720_000)]
    outcomes = race(*(partial(charge, account, items[index % 2]) for index in range(8)))
    assert all(hasattr(outcome, "revision") for outcome in outcomes), outcomes
    assert Charge.objects.filter(reverses=None, superseded=False).count() == 1
    amount = billing.charged_amount(sources=[UUID(int=1)], starts_at=NOON, ends_at=NOON + HOUR)
    assert amount in {Decimal("0.80"), Decimal("0.64")}
    assert str(close(account).total) == str(amount)


def test_charging_waits_for_a_close_and_lands_on_the_next_invoice() -> None:
    account = make_account()
    charge(account, make_item(quantity=900_000))
    with OtherConnection() as other, transaction.atomic():
        first = closing_inside(account)
        charging = other.start(partial(charge, account, make_item(quantity=450_000)))
        with pytest.raises(TimeoutError):
            charging(0.3)
    assert charging(10).reversed == 1
    assert (str(first), str(close(account, NOON + HOUR, NOON + 2 * HOUR).total)) == ("0.80", "-0.40")


def closing_inside(account: AccountView) -> Decimal:
    """The body of close_period in the test's own transaction, which it holds open."""
    body: Callable[..., Any] = closing.close_period.__wrapped__  # type: ignore[attr-defined]
    total: Decimal = body(tenant_id=account.tenant_id, starts_at=NOON, ends_at=NOON + HOUR, now=NOON + 2 * HOUR).total
    return total


def test_a_posting_that_read_the_period_as_open_is_refused_after_the_close() -> None:
    account = make_account()
    top_up = partial(billing.top_up, account_id=account.id, amount=Decimal(5), key="t", now=NOON)
    with OtherConnection() as other, transaction.atomic():
        closing_inside(account)
        posting = other.start(top_up)
        with pytest.raises(TimeoutError):
            posting(0.3)
    with pytest.raises(PeriodClosed):
        posting(10)


def test_the_same_top_up_from_eight_senders_is_one_entry() -> None:
    """Case 17."""
    account = make_account()
    top_up = partial(billing.top_up, account_id=account.id, amount=Decimal(5), key="t", now=NOON)
    outcomes = race(*[top_up] * 8)
    assert len({outcome.id for outcome in outcomes}) == 1
    assert Txn.objects.count() == 1


def test_charge_and_authorize_want_the_callers_transaction() -> None:
    account = make_account()
    with pytest.raises(TransactionMissing):
        billing.authorize(account_id=account.id, now=NOON)
    with pytest.raises(TransactionMissing):
        billing.charge(
            account_id=account.id, tenant_id=account.tenant_id, source=account.id, bucket=NOON, items=[], now=NOON
        )


def test_a_running_close_holds_no_reservation_up() -> None:
    account = make_account()
    with OtherConnection() as other, transaction.atomic():
        closing_inside(account)
        authorized = other.start(lambda: transaction.atomic(billing.authorize)(account_id=account.id, now=NOON))
        assert authorized(5) is None


def test_suspending_waits_for_who_was_authorized() -> None:
    account = make_account()
    with OtherConnection() as other, transaction.atomic():
        billing.authorize(account_id=account.id, now=NOON)
        suspending = other.start(partial(billing.set_status, account_id=account.id, status="suspended", now=NOON))
        with pytest.raises(TimeoutError):
            suspending(0.3)
    assert suspending(10).status == "suspended"


def test_deferred_checks_see_the_rows_after_the_scope_is_gone() -> None:
    """The double-entry trigger fires at commit: a scope that ended before must not blind it."""
    from plumbing.rowsec import tenant_scope

    account = make_account()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('vxpu.system', '', false)")
    with transaction.atomic(), tenant_scope(account.tenant_id):
        billing.post(
            account_id=account.id, key="k", text="In a tenant's scope", now=NOON,
            amounts={"cash": Decimal(1), "deposits": Decimal(-1)},
        )  # fmt: skip
    with tenant_scope(account.tenant_id):
        assert Txn.objects.count() == 1
