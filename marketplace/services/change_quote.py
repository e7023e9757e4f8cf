"""What another size or a later end would cost, before it is made. Nothing is taken and nothing is locked for long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import selectors
from marketplace.models import Meter, Placement, Reach, Reservation
from marketplace.rating import spans
from marketplace.rating.items import rate_at
from marketplace.services import beside
from marketplace.services._pricing import cost_of, hourly, ladder_of
from marketplace.services._quota import judge_quota, quota_use
from marketplace.services.extend import check_end, check_extendable
from marketplace.services.resize import check_resizable, end_after
from marketplace.services.wish import refusal_of_change, size_of, slice_of
from plumbing import db
from plumbing.errors import DomainError
from vxpu.slices import Period, Slice, dominant_permille


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuote:
    """Per hour at the price of `effective_at`; the totals are what is still to come from there to the booked end, if
    it is used or not, rounded once; None for an open end. `refused` says why not."""

    per_hour_before: Decimal
    per_hour_after: Decimal
    total_before: Decimal | None
    total_after: Decimal | None
    currency: str
    effective_at: datetime
    refused: DomainError | None

    @property
    def fits(self) -> bool:
        return self.refused is None

    @property
    def difference_per_hour(self) -> Decimal:
        return self.per_hour_after - self.per_hour_before


@db.transaction
def quote_resize(
    *, reach: Reach, reservation_id: UUID, memory_mib: int, share_permille: int, now: datetime
) -> ChangeQuote:
    """The judgements of `resize`, in its order. Raises WrongSize, WrongState, NotFound."""
    piece = size_of(memory_mib, share_permille)
    row = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    rest = Period(starts_at=max(now, row.starts_at), ends_at=end_after(row, now=now))
    lease_id = check_resizable(row)
    at, refused = max(now, row.starts_at), _over_quota(row, piece, rest) or _barred(row, now=now)
    if refused is None and piece != slice_of(row):
        try:
            at = beside.check_resize(row, lease_id=lease_id, piece=piece, now=now)
        except DoesNotFit as error:
            refused = refusal_of_change(error)
        except DomainError as error:
            refused = error
    return _priced(row, piece, row.ends_at, at=at, refused=refused)


@db.transaction
def quote_extension(*, reach: Reach, reservation_id: UUID, ends_at: datetime | None, now: datetime) -> ChangeQuote:
    """The judgements of `extend`, in its order. Raises WrongPeriod, WrongState, NotFound."""
    row = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    check_end(row, ends_at=ends_at, now=now)
    lease_id = check_extendable(row)
    at = max(now, row.starts_at)
    refused = _over_quota(row, slice_of(row), Period(starts_at=at, ends_at=ends_at)) or _barred(row, now=now)
    if refused is None:
        try:
            beside.check_end(row, lease_id=lease_id, ends_at=ends_at, now=now)
        except DoesNotFit as error:
            refused = refusal_of_change(error)
        except DomainError as error:
            refused = error
    return _priced(row, slice_of(row), ends_at, at=at, refused=refused)


def _over_quota(row: Reservation, piece: Slice, period: Period) -> DomainError | None:
    rows = selectors.quotas_of(tenant_id=row.tenant_id)
    try:
        uses = quota_use(rows, project_id=row.project_id, period=period, leave_out=row.pk)
        judge_quota(uses, piece=piece, is_new=False)
    except DomainError as error:
        return error
    return None


def _barred(row: Reservation, *, now: datetime) -> DomainError | None:
    try:
        billing.authorize(account_id=row.account_id, now=now)
    except DomainError as error:
        return error
    return None


def _priced(
    row: Reservation, piece: Slice, ends_at: datetime | None, *, at: datetime, refused: DomainError | None
) -> ChangeQuote:
    placement = selectors.current_placement(reservation_id=row.pk)
    before, after = (dominant_permille(size, device_memory_mib=placement.device_mib) for size in (slice_of(row), piece))
    first = spans.floor_second(at.astimezone(UTC))
    ladder = ladder_of(row, Meter.DELIVERED, spans.Span(first, first + spans.SECOND), device_kind=placement.device_kind)
    unit_price = rate_at(first, ladder=ladder).unit_price
    return ChangeQuote(
        per_hour_before=billing.round_fine(hourly(unit_price=unit_price, dominant_permille=before), row.currency),
        per_hour_after=billing.round_fine(hourly(unit_price=unit_price, dominant_permille=after), row.currency),
        total_before=_rest(row, placement, before, at=at, ends_at=row.ends_at),
        total_after=_rest(row, placement, after, at=at, ends_at=ends_at),
        currency=row.currency, effective_at=at, refused=refused,
    )  # fmt: skip


def _rest(
    row: Reservation, placement: Placement, share: int, *, at: datetime, ends_at: datetime | None
) -> Decimal | None:
    """What the share costs from `at` to the end."""
    if ends_at is None:
        return None
    span = spans.span_between(at, ends_at)
    if span is None:
        return billing.round_half_up(Decimal(0), row.currency)
    ladder = ladder_of(row, Meter.DELIVERED, span, device_kind=placement.device_kind)
    return billing.round_half_up(cost_of(dominant_permille=share, span=span, ladder=ladder), row.currency)
