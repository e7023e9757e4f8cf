"""The ledger: balanced, append-only, once for a key, and shut where a period is closed."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from billing import facade as billing
from billing.errors import AlreadyReversed, KeyReused, PeriodClosed, Unbalanced
from billing.models import Entry, LedgerAccount, Txn
from billing.rating.postings import NotBalanced, check_balanced, opposite
from plumbing.errors import NotFound
from tests.billing.factories import HOUR, NOON, charge, close, make_account, make_item
from vxpu.ids import new_uuid
from vxpu.money import AccountView

SECOND = timedelta(seconds=1)


def top_up(account: AccountView, amount: str = "50.00", key: str = "t1") -> object:
    return billing.top_up(account_id=account.id, amount=Decimal(amount), key=key, now=NOON)


def balances(account: AccountView) -> dict[str, str]:
    return {row.code: str(row.balance) for row in billing.trial_balance(tenant_id=account.tenant_id)}


def check_now() -> None:
    """Deferred triggers fire at commit; a test that rolls back lets them fire here."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.usefixtures("system")
def test_the_same_top_up_twice_is_one_entry() -> None:
    """Case 17."""
    account = make_account()
    assert top_up(account) == top_up(account)
    assert balances(account) == {"cash": "50.00", "deposits": "-50.00"}
    with pytest.raises(KeyReused):
        top_up(account, amount="60.00")


@pytest.mark.usefixtures("system")
def test_a_posting_is_reversed_once() -> None:
    """Case 17."""
    account = make_account()
    top_up(account)
    txn = Txn.objects.get()
    reversal = billing.reverse(txn_id=txn.pk, text="Entered twice", now=NOON)
    assert {code: str(amount) for code, amount in reversal.amounts.items()} == {"cash": "-50.00", "deposits": "50.00"}
    with pytest.raises(AlreadyReversed):
        billing.reverse(txn_id=txn.pk, text="Again", now=NOON)
    assert balances(account) == {"cash": "0.00", "deposits": "0.00"}
    with pytest.raises(NotFound):
        billing.reverse(txn_id=new_uuid(), text="Nothing", now=NOON)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("amounts", [("1.00", "-0.99"), ("0.00", "0.00"), ("0.001", "-0.001"), ("1.00", None)])
def test_what_does_not_add_up_is_refused(amounts: tuple[str, str | None]) -> None:
    account = make_account()
    entries = {code: Decimal(text) for code, text in zip(("cash", "deposits"), amounts, strict=True) if text}
    with pytest.raises(Unbalanced), transaction.atomic():
        billing.post(account_id=account.id, key="k", text="Wrong", amounts=entries, now=NOON)
    assert Txn.objects.count() == 0


@transaction.atomic
def write_past_the_service(
    account: AccountView, *amounts: str, entry_count: int = 2, owner: UUID | None = None
) -> None:
    """A transaction as wrong code would write it, on the ledger accounts of `owner`."""
    txn = Txn.objects.create(
        tenant_id=account.tenant_id, account_id=account.id, idempotency_key="x", posted_at=NOON, entry_count=2
    )
    for ledger_account, amount in zip(
        LedgerAccount.objects.filter(account_id=owner or account.id), amounts, strict=True
    ):
        Entry.objects.create(
            tenant_id=account.tenant_id, txn=txn, ledger_account=ledger_account, amount=amount, currency="EUR"
        )
    check_now()


@transaction.atomic
def write_more_entries(*amounts: str) -> None:
    """Balanced, but into a transaction that was posted before."""
    first = Entry.objects.earliest("id")
    for amount in amounts:
        first.pk, first.amount = new_uuid(), Decimal(amount)
        first.save(force_insert=True)
    check_now()


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("amount", ["-49.99", "-50.01", "50.00"])
def test_the_database_refuses_an_unbalanced_transaction(amount: str) -> None:
    account = make_account()
    top_up(account)
    with pytest.raises(IntegrityError, match="does not add up to zero"):
        write_past_the_service(account, "50.00", amount)


@pytest.mark.usefixtures("system")
def test_the_database_refuses_entries_that_come_later() -> None:
    top_up(make_account())
    check_now()
    with pytest.raises(IntegrityError, match="has 4 entries, not 2"):
        write_more_entries("5.00", "-5.00")


@pytest.mark.usefixtures("system")
def test_the_database_refuses_a_transaction_without_entries() -> None:
    account = make_account()
    with pytest.raises(IntegrityError, match="has 0 entries, not 2"):
        write_past_the_service(account)


@pytest.mark.usefixtures("system")
def test_the_database_refuses_an_entry_of_zero_and_of_another_account() -> None:
    account, other = make_account(), make_account()
    top_up(account)
    top_up(other)
    with pytest.raises(IntegrityError, match="billing_entry_not_zero"):
        write_past_the_service(account, "0", "0")
    with pytest.raises(IntegrityError, match="another account"):
        write_past_the_service(account, "1.00", "-1.00", owner=other.id)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize(
    "table", ["billing_txn", "billing_entry", "billing_charge", "billing_invoice", "billing_period"]
)
@pytest.mark.parametrize("verb", ["UPDATE {} SET created_at = now()", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_the_database_refuses_to_rewrite_history(table: str, verb: str) -> None:
    account = make_account()
    charge(account, make_item())
    close(account)
    check_now()
    words = r"refused|permission denied|reverse it|corrected by another|stay as they are"
    with pytest.raises(DatabaseError, match=words), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(verb.format(table))


@pytest.mark.usefixtures("system")
def test_nothing_is_posted_into_a_closed_period() -> None:
    """Case 18: by the service, and by the database when the service is passed by."""
    account = make_account()
    close(account)
    with pytest.raises(PeriodClosed):
        top_up(account)
    with pytest.raises(IntegrityError, match="closed period"):
        write_past_the_service(account)
    for index, at in enumerate((NOON - SECOND, NOON + HOUR)):
        assert billing.top_up(account_id=account.id, amount=Decimal(1), key=str(index), now=at)


def act(account: AccountView, verb: str, cents: int, at: datetime) -> None:
    """One step of a random story at the hour `at`."""
    amount, key = Decimal(cents).scaleb(-2), at.isoformat()
    invoice = next(iter(billing.list_invoices(tenant_id=account.tenant_id)), None)
    match verb:
        case "top_up":
            billing.top_up(account_id=account.id, amount=amount, key=key, now=at)
        case "reverse" if txn := Txn.objects.filter(account_id=account.id, reversed_by=None, reverses=None).first():
            billing.reverse(txn_id=txn.pk, text="Back", now=at)
        case "pay" if invoice and invoice.total > invoice.paid:
            rest = invoice.total - invoice.paid
            billing.pay_invoice(invoice_id=invoice.id, amount=min(amount, rest), key=key, now=at)
        case "charge":
            charge(account, make_item(starts_at=at - HOUR, ends_at=at, quantity=cents * 3600), source=account.id)
            close(account, invoice.ends_at if invoice else at - HOUR, at)


@given(st.lists(st.tuples(st.sampled_from(["top_up", "reverse", "charge", "pay"]), st.integers(1, 9999)), max_size=9))
@settings(max_examples=12)
@pytest.mark.usefixtures("system")
def test_the_ledger_is_always_balanced(steps: list[tuple[str, int]]) -> None:
    account = make_account()
    for index, (verb, cents) in enumerate(steps):
        act(account, verb, cents, NOON + index * HOUR)
    rows = billing.trial_balance(tenant_id=account.tenant_id)
    assert sum(row.balance for row in rows) == 0
    assert sum(row.debit for row in rows) == sum(row.credit for row in rows)
    check_now()


@given(st.dictionaries(st.sampled_from("abcdef"), st.decimals("-1e6", "1e6", places=2), min_size=2))
def test_a_posting_and_its_opposite_are_balanced_alike(amounts: dict[str, Decimal]) -> None:
    verdicts = []
    for entries in (amounts, opposite(amounts)):
        try:
            check_balanced(entries, "EUR")
            verdicts.append(True)
        except NotBalanced:
            verdicts.append(False)
    assert verdicts[0] == verdicts[1] == (sum(amounts.values()) == 0 and all(amounts.values()))
