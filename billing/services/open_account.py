"""Open the billing account of a tenant."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from billing.errors import AccountExists, BadAccount
from billing.models import Account
from billing.rating.money import UnknownCurrency, exponent_of
from billing.rating.periods import UnknownZone, zone_of
from billing.selectors import account_view
from plumbing import db
from vxpu.money import AccountView


def _check(name: str, currency: str, zone: str, anchor_day: int) -> None:
    try:
        exponent_of(currency)
        zone_of(zone)
    except (UnknownCurrency, UnknownZone) as error:
        raise BadAccount(str(error)) from error
    if not 1 <= anchor_day <= 31:
        raise BadAccount(f"anchor day {anchor_day} is not within 1..31")
    if not name.strip():
        raise BadAccount("an account needs a name")


@db.transaction
def open_account(
    *, tenant_id: UUID, name: str, currency: str, zone: str, now: datetime, anchor_day: int = 1
) -> AccountView:
    """One account a tenant; the same call again returns it. Raises BadAccount (422), AccountExists (409)."""
    _check(name, currency, zone, anchor_day)
    account, is_new = Account.objects.get_or_create(
        tenant_id=tenant_id,
        defaults={
            "name": name, "currency": currency, "zone": zone, "anchor_day": anchor_day,
            "opened_at": now, "created_at": now,
        },
    )  # fmt: skip
    same = (account.name, account.currency, account.zone, account.anchor_day) == (name, currency, zone, anchor_day)
    if not is_new and not same:
        raise AccountExists(f"the account of this tenant is {account.name!r} in {account.currency}, {account.zone}")
    return account_view(account)
