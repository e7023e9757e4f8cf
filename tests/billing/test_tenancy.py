"""Row-level security: the second fence around each tenant's money."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, connection, transaction

from billing import facade as billing
from billing.models import Account
from plumbing.rowsec import system_scope, tenant_scope
from tests.billing.factories import NOON, charge, close, make_account, make_item
from vxpu.ids import new_uuid

pytestmark = pytest.mark.django_db
TABLES = [
    "billing_account", "billing_charge", "billing_entry", "billing_invoice", "billing_invoice_line",
    "billing_ledger_account", "billing_period", "billing_txn",
]  # fmt: skip


def rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - a constant of this file
        return int(cursor.fetchone()[0])


def test_a_tenant_sees_its_own_rows_and_the_default_is_none() -> None:
    with system_scope():
        accounts = [make_account(name=name) for name in ("Ada Labs", "Bo Works")]
        for account in accounts:
            charge(account, make_item(), source=account.id)
            close(account)
        everything = {table: rows(table) for table in TABLES}
    assert {table: rows(table) for table in TABLES} == dict.fromkeys(TABLES, 0)
    for account in accounts:
        with tenant_scope(account.tenant_id):
            assert {table: 2 * rows(table) for table in TABLES} == everything
            assert rows("billing_number_series") == 0


def test_a_tenant_writes_no_row_of_another() -> None:
    with tenant_scope(new_uuid()), pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        Account.objects.create(tenant_id=new_uuid(), name="Mine", currency="EUR", zone="UTC", opened_at=NOON)


def test_every_table_of_billing_is_fenced() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'billing_%' AND relkind = 'r' AND NOT relrowsecurity"
        )
        assert cursor.fetchall() == []


def test_a_tenants_own_scope_is_enough_to_be_charged_and_to_read() -> None:
    with system_scope():
        account = make_account()
    with tenant_scope(account.tenant_id):
        charge(account, make_item())
        charge(account, make_item(quantity=1))
        assert len(billing.charged_lines(sources=[account.id], starts_at=NOON, ends_at=NOON)) == 0
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
