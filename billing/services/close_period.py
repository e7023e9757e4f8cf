"""Close a billing period of an account and issue its invoice."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from billing import locks
from billing.errors import PeriodNotContiguous, PeriodNotOver, PeriodOverlaps
from billing.models import Account, BillingPeriod, InvoiceKind, PeriodState
from billing.rating.periods import tzdata_version
from billing.selectors import get_account, invoice_view, item_of, lines_of, live_charges
from billing.services._gather import gather
from billing.services._issue import issue
from billing.services.charge import set_charges
from plumbing import db
from plumbing.errors import Conflict, Invalid
from vxpu.money import InvoiceView


def _check_place(account: Account, starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Periods adjoin: what has happened is billed in order, with no gap that nobody would ever bill."""
    if ends_at <= starts_at:
        raise Invalid("the period ends before it starts")
    if now < ends_at:
        raise PeriodNotOver(f"it ends at {ends_at.isoformat()}", suggestion="Close it after its end.")
    last = BillingPeriod.objects.filter(account=account).order_by("-ends_at").first()
    if last is None or starts_at == last.ends_at:
        return
    expected = last.ends_at.isoformat()
    if starts_at < last.ends_at:
        raise PeriodOverlaps(f"billed up to {expected}", suggestion=f"Start at {expected}.", expected=expected)
    raise PeriodNotContiguous(f"billed up to {expected}", suggestion=f"Start at {expected}.", expected=expected)


def _recut(account: Account, borders: list[datetime], now: datetime) -> None:
    """Charges that lie across the new borders are set again, which cuts them there."""
    across = Q()
    for border in borders:
        across |= Q(starts_at__lt=border, ends_at__gt=border)
    for source, bucket in sorted(set(live_charges().filter(across, account=account).values_list("source", "bucket"))):
        items = live_charges().filter(source=source, bucket=bucket)
        set_charges(account=account, source=source, bucket=bucket, items=[item_of(row) for row in items], now=now)


@db.transaction
def close_period(*, tenant_id: UUID, starts_at: datetime, ends_at: datetime, now: datetime) -> InvoiceView:
    """One invoice for an account and period: the same again returns it; workers at once make one, with one number.

    Late corrections of earlier periods come on this invoice with their old service period.
    Raises NoAccount, PeriodNotOver, PeriodOverlaps, PeriodNotContiguous (409, `expected` in the data), Invalid (422).
    """
    account = locks.account_for_money(account_id=get_account(tenant_id=tenant_id).id)
    done = BillingPeriod.objects.filter(
        account=account, starts_at=starts_at, ends_at=ends_at, state=PeriodState.CLOSED
    ).first()
    if done is not None:
        invoice = done.invoices.select_related("period").get(kind=InvoiceKind.INVOICE)
        return invoice_view(invoice, lines_of(invoice))
    _check_place(account, starts_at, ends_at, now)
    period = BillingPeriod.objects.create(
        tenant_id=tenant_id, account=account, starts_at=starts_at, ends_at=ends_at, zone=account.zone,
        anchor_day=account.anchor_day, tzdata_version=tzdata_version(), created_at=now,
    )  # fmt: skip
    _recut(account, [starts_at, ends_at], now)
    view = issue(account=account, period=period, gathered=gather(account=account, period=period), now=now)
    _close(account, period, now)
    return view


def _close(account: Account, period: BillingPeriod, now: datetime) -> None:
    """The version bump turns a posting that still reads the old snapshot into a serialization failure."""
    closed = BillingPeriod.objects.filter(pk=period.pk, state=PeriodState.OPEN).update(
        state=PeriodState.CLOSED, closed_at=now
    )
    bumped = Account.objects.filter(pk=account.pk, version=account.version).update(version=F("version") + 1)
    if not closed or not bumped:
        raise Conflict("the account changed while its period was being closed")
