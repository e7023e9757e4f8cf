"""What an invoice bills: the lines of its own period, and corrections of earlier ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from billing.models import Account, BillingPeriod, Charge, InvoiceLine
from billing.rating.lines import Line, adjust, billed_state, rate
from billing.rating.money import round_half_up
from billing.selectors import entry_of, live_charges, meter_of


@dataclass(frozen=True, slots=True)
class PeriodLines:
    """Lines with the period that their service belongs to."""

    period: BillingPeriod
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that goes on the invoice, oldest service first, and the charges that it takes in."""

    parts: list[PeriodLines]
    charges: QuerySet[Charge]


def _by_home(charges: Iterable[Charge], periods: list[BillingPeriod]) -> list[tuple[int, list[Charge]]]:
    """By the index of the period that the service began in; what came before the first period belongs to the first."""
    starts = [period.starts_at for period in periods]
    found: dict[int, list[Charge]] = {}
    for charge in charges:
        found.setdefault(max(bisect_right(starts, charge.starts_at) - 1, 0), []).append(charge)
    return sorted(found.items())


def _billed(period: BillingPeriod, sources: Iterable[UUID], currency: str) -> list[Line]:
    rows = InvoiceLine.objects.filter(service_period=period, source__in=sources)
    return [
        Line(meter_of(row), row.starts_at, row.ends_at, row.quantity, round_half_up(row.amount, currency))
        for row in rows.order_by("invoice__number", "position")
    ]


def _corrections(account: Account, period: BillingPeriod, sources: set[UUID], *, is_first: bool) -> list[Line]:
    charges = live_charges().filter(account=account, source__in=sources, starts_at__lt=period.ends_at)
    if not is_first:
        charges = charges.filter(starts_at__gte=period.starts_at)
    right = rate((entry_of(charge) for charge in charges), currency=account.currency)
    return adjust(right, billed_state(_billed(period, sources, account.currency)))


def gather(*, account: Account, period: BillingPeriod) -> Gathered:
    """Every charge not yet invoiced whose service began before the period's end. The caller holds the account."""
    unbilled = Charge.objects.filter(account=account, invoice__isnull=True, starts_at__lt=period.ends_at)
    # Most of a busy bucket's rows are charges and reversals that cancel before anyone was billed: not worth loading.
    telling = unbilled.filter(superseded=False).exclude(reverses__isnull=False, reverses__invoice__isnull=True)
    periods = list(BillingPeriod.objects.filter(account=account, starts_at__lte=period.starts_at).order_by("starts_at"))
    parts = []
    for index, charges in _by_home(telling, periods):
        if periods[index].pk == period.pk:
            lines = rate((entry_of(charge) for charge in charges), currency=account.currency)
        else:
            sources = {charge.source for charge in charges}
            lines = _corrections(account, periods[index], sources, is_first=index == 0)
        parts.append(PeriodLines(periods[index], lines))
    return Gathered(parts, unbilled)
