"""Post to the ledger, and take a posting back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing import locks
from billing.errors import AlreadyReversed, KeyReused, PeriodClosed, Unbalanced
from billing.models import Account, BillingPeriod, Entry, LedgerAccount, LedgerCode, PeriodState, Txn
from billing.rating.money import round_half_up
from billing.rating.postings import NotBalanced, PostingView, check_balanced, opposite
from plumbing import db
from plumbing.errors import NotFound


def _view(txn: Txn) -> PostingView:
    entries = txn.entries.select_related("ledger_account").order_by("ledger_account__code")
    amounts = {entry.ledger_account.code: round_half_up(entry.amount, entry.currency) for entry in entries}
    return PostingView(
        id=txn.pk, account_id=txn.account_id, key=txn.idempotency_key, text=txn.text, posted_at=txn.posted_at,
        currency=entries[0].currency, amounts=amounts,
    )  # fmt: skip


def _refuse_closed(account: Account, at: datetime) -> None:
    closed = BillingPeriod.objects.filter(account=account, state=PeriodState.CLOSED, starts_at__lte=at, ends_at__gt=at)
    if closed.exists():
        raise PeriodClosed(f"{at.isoformat()} lies in a closed period", suggestion="Post it into the open period.")


def _ledger_accounts(account: Account, codes: Mapping[str, Decimal], now: datetime) -> dict[str, LedgerAccount]:
    return {
        code: LedgerAccount.objects.get_or_create(
            account=account,
            code=LedgerCode(code),
            currency=account.currency,
            defaults={"tenant_id": account.tenant_id, "created_at": now},
        )[0]
        for code in codes
    }


def _write(
    account: Account, key: str, text: str, amounts: Mapping[str, Decimal], now: datetime, reverses: Txn | None
) -> Txn:
    _refuse_closed(account, now)
    txn = Txn.objects.create(
        tenant_id=account.tenant_id, account=account, idempotency_key=key, posted_at=now, text=text,
        entry_count=len(amounts), reverses=reverses, created_at=now,
    )  # fmt: skip
    ledger = _ledger_accounts(account, amounts, now)
    Entry.objects.bulk_create(
        Entry(
            tenant_id=account.tenant_id, txn=txn, ledger_account=ledger[code], amount=amount,
            currency=account.currency, created_at=now,
        )
        for code, amount in amounts.items()
    )  # fmt: skip
    return txn


@db.transaction_required
def post(*, account_id: UUID, key: str, text: str, amounts: Mapping[str, Decimal], now: datetime) -> PostingView:
    """Posts signed amounts (debit positive) by ledger code, once for a key: the same again returns the first.

    Raises NoAccount, KeyReused (409), Unbalanced (422), PeriodClosed (409).
    """
    account = locks.account_for_money(account_id=account_id)
    try:
        check_balanced(amounts, account.currency)
    except NotBalanced as error:
        raise Unbalanced(str(error)) from error
    done = Txn.objects.filter(tenant_id=account.tenant_id, idempotency_key=key).first()
    if done is None:
        return _view(_write(account, key, text, amounts, now, None))
    view = _view(done)
    if (view.account_id, dict(view.amounts)) != (account_id, dict(amounts)):
        raise KeyReused(f"{key!r} posted other amounts at {view.posted_at.isoformat()}")
    return view


@db.transaction
def reverse(*, txn_id: UUID, text: str, now: datetime) -> PostingView:
    """Posts the opposite of a transaction, once. Raises NotFound, AlreadyReversed (409), PeriodClosed (409)."""
    first = Txn.objects.filter(pk=txn_id).first()
    if first is None:
        raise NotFound("There is no such posting.")
    account = locks.account_for_money(account_id=first.account_id)
    if Txn.objects.filter(reverses=first).exists():
        raise AlreadyReversed(f"{first.text!r} was taken back before")
    return _view(_write(account, f"reverse:{first.pk}", text, opposite(_view(first).amounts), now, first))
