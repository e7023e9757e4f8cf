"""Accounts and their calendar: opening one, and closing what is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from billing import facade as billing
from billing.errors import AccountClosed, AccountExists, AccountSuspended, BadAccount, NoAccount
from billing.exports.invoice_csv import invoice_csv
from billing.models import Account, BillingPeriod
from billing.services.close_due import close_due
from billing.tasks import close_due_periods
from tests.billing.factories import HOUR, NOON, charge, make_account, make_item
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")
DAY = timedelta(days=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_an_account_is_opened_once() -> None:
    account = make_account()
    assert make_account(tenant_id=account.tenant_id, now=NOON) == account
    assert billing.get_account(tenant_id=account.tenant_id) == account
    with pytest.raises(AccountExists):
        make_account(tenant_id=account.tenant_id, currency="USD")


@pytest.mark.parametrize("over", [{"currency": "XXX"}, {"zone": "Mars/Olympus"}, {"anchor_day": 32}, {"name": " "}])
def test_an_impossible_account_is_refused(over: dict[str, object]) -> None:
    with pytest.raises(BadAccount):
        make_account(**over)
    assert Account.objects.count() == 0


@pytest.mark.parametrize(("status", "error"), [("suspended", AccountSuspended), ("closed", AccountClosed)])
def test_only_an_active_account_takes_on_costs(status: str, error: type[Exception]) -> None:
    account = make_account()
    with transaction.atomic():
        billing.authorize(account_id=account.id, now=NOON)
    assert billing.set_status(account_id=account.id, status=status, now=NOON).status == status
    with pytest.raises(error), transaction.atomic():
        billing.authorize(account_id=account.id, now=NOON)
    assert charge(account, make_item()).added == 1, "what was used is charged all the same"
    with pytest.raises(NoAccount), transaction.atomic():
        billing.authorize(account_id=new_uuid(), now=NOON)


def test_nothing_is_due_while_late_usage_may_come() -> None:
    account = make_account(now=utc(2026, 3, 10))
    ends_at = utc(2026, 3, 31, 22)
    assert close_due(now=ends_at + DAY - timedelta(seconds=1), collect=DAY) == 0
    assert close_due(now=ends_at + DAY, collect=DAY) == 1
    assert close_due(now=ends_at + DAY, collect=DAY) == 0
    invoice = billing.list_invoices(tenant_id=account.tenant_id)[0]
    assert (invoice.starts_at, invoice.ends_at) == (utc(2026, 2, 28, 23), ends_at)


def test_periods_of_anchor_31_adjoin_when_closed_one_after_the_other() -> None:
    """Case 4, through the service."""
    make_account(now=utc(2026, 1, 31, 12), anchor_day=31)
    while close_due(now=utc(2026, 7, 1), collect=timedelta(0)):
        continue
    spans = BillingPeriod.objects.order_by("starts_at").values_list("starts_at", "ends_at")
    local = [f"{start + timedelta(hours=2):%m-%d}" for start, _ in spans]
    assert local == ["01-31", "02-28", "03-31", "04-30", "05-31"]
    assert [end for _, end in spans[:4]] == [start for start, _ in spans[1:]]


def test_after_a_period_of_its_own_the_calendar_goes_on_from_there() -> None:
    account = make_account(now=utc(2026, 3, 10))
    billing.close_period(
        tenant_id=account.tenant_id, starts_at=utc(2026, 3, 10), ends_at=utc(2026, 3, 20), now=utc(2026, 3, 20)
    )
    assert close_due(now=utc(2026, 4, 2), collect=DAY) == 1
    latest = billing.list_invoices(tenant_id=account.tenant_id)[0]
    assert (latest.starts_at, latest.ends_at) == (utc(2026, 3, 20), utc(2026, 3, 31, 22))


def test_two_equal_accounts_get_equal_invoices() -> None:
    """Case 3: one opened before, one after the change of the clocks; the last hour of October falls to October."""
    accounts = [make_account(now=utc(2026, month, 1)) for month in (9, 11)]
    accounts.append(make_account(now=utc(2026, 10, 26)))
    last_hour = utc(2026, 10, 31, 22)
    papers = []
    for account in accounts:
        charge(account, make_item(starts_at=last_hour, ends_at=last_hour + HOUR, quantity=3_600_000), source=account.id)
        invoice = billing.close_period(
            tenant_id=account.tenant_id,
            starts_at=utc(2026, 9, 30, 22),
            ends_at=utc(2026, 10, 31, 23),
            now=utc(2026, 11, 2),
        )
        papers.append(invoice_csv(invoice).replace(invoice.number, "").replace(str(account.id), ""))
        assert invoice.total == Decimal("3.20")
    assert papers[0] == papers[1] == papers[2]


def test_the_task_closes_what_the_settings_say() -> None:
    make_account(now=utc(2020, 1, 1))
    close_due_periods.run()
    assert BillingPeriod.objects.count() == 1
