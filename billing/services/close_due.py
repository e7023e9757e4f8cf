"""Close what is due: the calendar periods that ended and had their time to collect late usage."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Max

from billing.models import Account
from billing.rating.periods import Span, period_at
from billing.services.close_period import close_period
from plumbing.errors import DomainError

log = logging.getLogger(__name__)


def _next_span(account: Account, closed_until: datetime | None) -> Span:
    """From where the last period ended, or the calendar period in which the account was opened, to the next border."""
    calendar = period_at(closed_until or account.opened_at, zone=account.zone, anchor_day=account.anchor_day)
    return Span(closed_until or calendar.starts_at, calendar.ends_at)


def _due(*, now: datetime, collect: timedelta) -> list[tuple[UUID, Span]]:
    accounts = Account.objects.annotate(closed_until=Max("periods__ends_at")).order_by("pk")
    spans = [(account.tenant_id, _next_span(account, account.closed_until)) for account in accounts.iterator()]
    return [(tenant_id, span) for tenant_id, span in spans if span.ends_at + collect <= now]


def close_due(*, now: datetime, collect: timedelta, limit: int = 200) -> int:
    """Closes one due period of each account, each in a transaction of its own; returns how many.

    `collect` is the time that late usage has to arrive on its own invoice. It may be interrupted and run again, also
    by several workers. An account that cannot be closed holds up no other.
    """
    closed = 0
    for tenant_id, span in _due(now=now, collect=collect)[:limit]:
        try:
            close_period(tenant_id=tenant_id, starts_at=span.starts_at, ends_at=span.ends_at, now=now)
            closed += 1
        except DomainError:
            log.exception("The period %s of tenant %s is not closed", span, tenant_id)
    return closed
