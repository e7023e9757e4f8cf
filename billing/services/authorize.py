"""May this account take on a new cost?"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from billing import locks
from billing.errors import AccountClosed, AccountSuspended
from billing.models import AccountStatus
from plumbing import db


@db.transaction_required
def authorize(*, account_id: UUID, now: datetime) -> None:  # noqa: ARG001 - spend caps will look at the clock
    """Holds off a change of the account's status until the caller commits.

    Raises NoAccount (409), AccountSuspended (402), AccountClosed (409).
    """
    account = locks.account_for_use(account_id=account_id)
    if account.status == AccountStatus.SUSPENDED:
        raise AccountSuspended(f"{account.name} takes no new reservations", suggestion="Settle what is due.")
    if account.status == AccountStatus.CLOSED:
        raise AccountClosed(f"{account.name} is closed")
