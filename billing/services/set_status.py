"""Suspend an account, take it up again, or close it for good."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import F

from billing import locks
from billing.errors import StatusRefused
from billing.models import Account, AccountStatus
from billing.models.account import ALLOWED
from billing.selectors import account_view
from plumbing import db
from vxpu.money import AccountView


@db.transaction
def set_status(*, account_id: UUID, status: str, now: datetime) -> AccountView:  # noqa: ARG001 - the log will want it
    """Waits for reservations that are being authorized; the same status again changes nothing.

    What runs goes on and is charged: only new reservations are refused. Raises NoAccount, StatusRefused (409).
    """
    account = locks.account_for_status(account_id=account_id)
    wanted = AccountStatus(status)
    if account.status == wanted:
        return account_view(account)
    if wanted not in ALLOWED[AccountStatus(account.status)]:
        raise StatusRefused(f"the account is {account.status}; it cannot become {wanted}")
    won = Account.objects.filter(pk=account.pk, version=account.version).update(status=wanted, version=F("version") + 1)
    if not won:
        raise StatusRefused("the account changed meanwhile")
    account.refresh_from_db()
    return account_view(account)
