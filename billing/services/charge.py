"""Set the charges of one bucket of one source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Max

from billing import locks
from billing.errors import BadCharge, SourceOfAnother, TimeChargedTwice
from billing.models import Account, Charge
from billing.rating.revisions import BadItem, canonical_items, revise
from billing.selectors import borders_of, item_of, live_charges
from plumbing import db
from vxpu.money import ChargeItem, ChargeOutcome


def _live(account: Account, source: UUID, bucket: datetime) -> dict[UUID, Charge]:
    live = live_charges().filter(source=source, bucket=bucket)
    found = {charge.pk: charge for charge in live.order_by("starts_at", "pk")}
    if any(charge.account_id != account.pk for charge in found.values()):
        raise SourceOfAnother(f"source {source} is charged to another account")
    return found


def _wanted(account: Account, items: Sequence[ChargeItem]) -> list[ChargeItem]:
    try:
        checked = canonical_items(items)
    except BadItem as error:
        raise BadCharge(str(error)) from error
    if not checked:
        return []
    first, last = min(item.starts_at for item in checked), max(item.ends_at for item in checked)
    borders = borders_of(account, first, last)
    return canonical_items(checked, borders) if borders else checked


def _row(account: Account, key: tuple[UUID, datetime], item: ChargeItem, revision: int, now: datetime) -> Charge:
    return Charge(
        tenant_id=account.tenant_id, account=account, source=key[0], bucket=key[1], kind=item.kind,
        starts_at=item.starts_at, ends_at=item.ends_at, quantity=item.quantity, divisor=item.divisor,
        unit_price=item.unit_price, price_id=item.price_id, text=item.text, simulated=item.simulated,
        revision=revision, created_at=now,
    )  # fmt: skip


def _reversal_of(account: Account, charge: Charge, revision: int, now: datetime) -> Charge:
    row = _row(account, (charge.source, charge.bucket), item_of(charge), revision, now)
    row.quantity = -charge.quantity
    row.reverses = charge
    return row


def _write(
    account: Account, key: tuple[UUID, datetime], old: Sequence[Charge], added: Sequence[ChargeItem], now: datetime
) -> int:
    latest = Charge.objects.filter(source=key[0], bucket=key[1]).aggregate(latest=Max("revision"))["latest"]
    revision = (latest or 0) + 1
    try:
        with db.savepoint():
            # Reversals first: the database then counts the old time as free, and the new charges may take it.
            Charge.objects.bulk_create([_reversal_of(account, charge, revision, now) for charge in old])
            Charge.objects.bulk_create([_row(account, key, item, revision, now) for item in added])
    except IntegrityError as error:
        if "billing_charge_time_once" in str(error):
            raise TimeChargedTwice(f"source {key[0]}, bucket {key[1].isoformat()}") from error
        raise
    return revision


def set_charges(
    *, account: Account, source: UUID, bucket: datetime, items: Sequence[ChargeItem], now: datetime
) -> ChargeOutcome:
    """The heart of `charge`, for a caller that holds the account's lock."""
    live = _live(account, source, bucket)
    change = revise({pk: item_of(row) for pk, row in live.items()}, _wanted(account, items))
    if not change.superseded and not change.added:
        return ChargeOutcome(revision=max((row.revision for row in live.values()), default=0), added=0, reversed=0)
    revision = _write(account, (source, bucket), [live[pk] for pk in change.superseded], change.added, now)
    return ChargeOutcome(revision=revision, added=len(change.added), reversed=len(change.superseded))


@db.transaction_required
def charge(
    *, account_id: UUID, tenant_id: UUID, source: UUID, bucket: datetime, items: Sequence[ChargeItem], now: datetime
) -> ChargeOutcome:
    """Makes `items` the charges of (source, bucket): the same again changes nothing, other ones replace the old.

    What is replaced gets a reversal and the new content a higher revision; where the old was invoiced already, both
    land on the next invoice as an adjustment with the old service period. Items are cut at the borders of billing
    periods, in proportion to time. An empty list takes back all.
    Raises NoAccount, SourceOfAnother, TimeChargedTwice (409), BadCharge (422).
    """
    account = locks.account_for_money(account_id=account_id)
    if account.tenant_id != tenant_id:
        raise SourceOfAnother("the account is another tenant's")
    return set_charges(account=account, source=source, bucket=bucket, items=items, now=now)
