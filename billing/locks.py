"""Row locks, in the global order: quota < account < node < device < lease. Inside billing: account < number series.

Who charges several accounts in one transaction takes them by ascending id. Charging and closing exclude each other on
the account row; a reservation only holds off a change of the account's status, never a running invoice.
"""

from __future__ import annotations

from uuid import UUID

from billing.errors import NoAccount
from billing.models import Account, NumberSeries


def account_for_money(*, account_id: UUID) -> Account:
    """FOR NO KEY UPDATE: one writer of charges, periods and postings an account. Raises NoAccount."""
    account = Account.objects.select_for_update(no_key=True).filter(pk=account_id).first()
    if account is None:
        raise NoAccount
    return account


def account_for_status(*, account_id: UUID) -> Account:
    """FOR UPDATE: also waits for whoever relies on the status, see `account_for_use`. Raises NoAccount."""
    account = Account.objects.select_for_update().filter(pk=account_id).first()
    if account is None:
        raise NoAccount
    return account


def account_for_use(*, account_id: UUID) -> Account:
    """FOR KEY SHARE: the account stays as it is until the caller commits, while charging goes on. Raises NoAccount."""
    found = list(Account.objects.raw("SELECT * FROM billing_account WHERE id = %s FOR KEY SHARE", [account_id]))
    if not found:
        raise NoAccount
    return found[0]


def number_series(*, name: str) -> NumberSeries:
    """The counter row, held until the issuing transaction ends; last of all locks, so it is held shortest."""
    return NumberSeries.objects.select_for_update(no_key=True).get(name=name)
