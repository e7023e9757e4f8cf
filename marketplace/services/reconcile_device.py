"""Does what was charged for a device, with its idle time, add up to what the device costs?

In integers first: charged + idle - over-recovery = 1000 permille x seconds, where charged is what billing holds and
the other two come from the calendar of delivered time alone. Then in money, at the list price of each second.
Source of the base: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import DoesNotAddUp, NoPrice, WrongPeriod
from marketplace.models import Meter, Placement
from marketplace.rating import spans
from marketplace.rating.items import NoRate, Piece, Taken, split_at_prices
from marketplace.services.rate import rate_bucket
from plumbing import db
from vxpu.market import DeviceView
from vxpu.money import DEVICE_HOUR, ChargeKind, LineView
from vxpu.units import WHOLE_PERMILLE

DELIVERED = frozenset({ChargeKind.USED, ChargeKind.IDLE, ChargeKind.DELIVERED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantities:
    """Permille-seconds of the device: charged + idle - over + cut = total = 1000 x seconds. `cut` is 0 on the grid."""

    charged: int
    idle: int
    over: int
    total: int
    cut: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReconciliation:
    """charged + discount + idle - over_recovery = cost, to the minor unit.

    `discount` is what tenants' own prices leave off the list price. `rounding` is the residue of rounded lines that
    `idle` carries. `reserved` was charged for time not delivered: it stands beside the identity, not in it.
    """

    device: DeviceView
    starts_at: datetime
    ends_at: datetime
    currency: str
    cost: Decimal
    charged: Decimal
    discount: Decimal
    idle: Decimal
    over_recovery: Decimal
    rounding: Decimal
    reserved: Decimal
    quantities: Quantities


def reconcile_device(
    *, device_id: UUID, starts_at: datetime, ends_at: datetime, currency: str, now: datetime
) -> DeviceReconciliation:
    """Rates the period's buckets anew first, so that news on their way do not look like a fault.

    Borders are whole seconds and past. On the rating grid the identity is exact; a border off the grid may cut a
    charge, which billing shares out in proportion: then each line may be off by one permille-second, and
    `quantities.cut` says by how much all are. Raises WrongPeriod, NoPrice, NotFound, and DoesNotAddUp when the identity
    fails: that is an error, never adjusted.
    """
    _check_borders(starts_at, ends_at, now=now)
    device = allocator.get_device(device_id=device_id)
    placements = selectors.list_placements(device_id=device_id)
    for placement in placements:
        _rate(placement=placement, starts_at=starts_at, ends_at=ends_at, now=now)
    pieces = _priced(device, starts_at, ends_at, currency=currency)
    sources = [placement.lease_id for placement in placements]
    lines = billing.charged_lines(sources=sources, starts_at=starts_at, ends_at=ends_at)
    return _add_up(device, pieces, lines, currency=currency)


def _check_borders(starts_at: datetime, ends_at: datetime, *, now: datetime) -> None:
    if not starts_at < ends_at <= now:
        raise WrongPeriod("from must be before to, and to not after now.", suggestion="Choose a period that is over.")
    if starts_at.microsecond or ends_at.microsecond:
        raise WrongPeriod("from and to must be whole seconds.", suggestion="Time is metered in whole seconds.")


@db.transaction
def _rate(*, placement: Placement, starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    row = locks.lock_reservation(reservation_id=placement.reservation_id)
    first = max(starts_at, placement.booked_from)
    last = min(ends_at, placement.booked_until or row.ended_at or ends_at)
    for bucket in spans.buckets(first, last, width_s=settings.VXPU_RATING_PERIOD_S):
        rate_bucket(row=row, placement=placement, bucket=bucket, now=now)


def _priced(device: DeviceView, starts_at: datetime, ends_at: datetime, *, currency: str) -> list[Piece]:
    """The whole device over the period, cut where its list price changes."""
    ladder = selectors.price_ladder(
        tenant_id=None, currency=currency, skus=(str(device.kind),), meter=Meter.DELIVERED, starts_at=starts_at,
        ends_at=ends_at,
    )  # fmt: skip
    try:
        return split_at_prices(Taken(spans.Span(starts_at, ends_at), WHOLE_PERMILLE, device.model), ladder=ladder)
    except NoRate as error:
        raise NoPrice(f"The device has no list price at {error.at.isoformat()}.") from error


def _add_up(
    device: DeviceView, pieces: Sequence[Piece], lines: Sequence[LineView], *, currency: str
) -> DeviceReconciliation:
    exact = {"cost": Fraction(0), "idle": Fraction(0), "over": Fraction(0)}
    idle = over = 0
    for piece in pieces:
        report = allocator.device_idle(device_id=device.id, starts_at=piece.span.starts_at, ends_at=piece.span.ends_at)
        per_unit = Fraction(piece.rate.unit_price) / DEVICE_HOUR
        idle, over = idle + report.idle_permille_s, over + report.over_permille_s
        exact["cost"] += per_unit * piece.permille_s
        exact["idle"] += per_unit * report.idle_permille_s
        exact["over"] += per_unit * report.over_permille_s
    delivered = [line for line in lines if line.kind in DELIVERED]
    total = sum(piece.permille_s for piece in pieces)
    charged = sum(line.quantity for line in delivered)
    cut = total - charged - idle + over
    quantities = Quantities(charged=charged, idle=idle, over=over, total=total, cut=cut)
    on_grid = all(
        spans.bucket_start(at, width_s=settings.VXPU_RATING_PERIOD_S) == at
        for at in (pieces[0].span.starts_at, pieces[-1].span.ends_at)
    )
    _check_quantities(device, quantities, most=0 if on_grid else len(delivered))
    nothing = billing.round_half_up(Decimal(0), currency)
    reserved = sum((line.amount for line in lines if line.kind not in DELIVERED), nothing)
    return _in_money(device, pieces, delivered, exact, quantities, currency=currency, reserved=reserved)


def _check_quantities(device: DeviceView, found: Quantities, *, most: int) -> None:
    if abs(found.cut) > most:
        raise DoesNotAddUp(
            f"charged {found.charged} + idle {found.idle} - over {found.over} is not {found.total} permille-seconds.",
            suggestion="Report this with the device and the period: it is a fault of ours.",
            device=str(device.id), charged=found.charged, idle=found.idle, over=found.over, total=found.total,
        )  # fmt: skip


def _in_money(
    device: DeviceView,
    pieces: Sequence[Piece],
    lines: Sequence[LineView],
    exact: dict[str, Fraction],
    quantities: Quantities,
    *,
    currency: str,
    reserved: Decimal,
) -> DeviceReconciliation:
    cost = billing.round_half_up(exact["cost"], currency)
    over = billing.round_half_up(exact["over"], currency)
    charged = sum((line.amount for line in lines), billing.round_half_up(Decimal(0), currency))
    charged_exact = sum((Fraction(line.unit_price) * line.quantity / line.divisor for line in lines), Fraction(0))
    discount = billing.round_half_up(exact["cost"] - exact["idle"] + exact["over"] - charged_exact, currency)
    carried = cost - charged - discount + over
    rounding = carried - billing.round_half_up(exact["idle"], currency)
    # Half a minor unit for each rounded amount: the lines, and cost, over, discount and idle.
    most = Fraction(len(lines) + 4, 2) / 10 ** billing.exponent_of(currency)
    if abs(Fraction(rounding)) > most:
        raise DoesNotAddUp(f"A residue of {rounding} is more than rounding.", device=str(device.id))
    return DeviceReconciliation(
        device=device, starts_at=pieces[0].span.starts_at, ends_at=pieces[-1].span.ends_at, currency=currency,
        cost=cost, charged=charged, discount=discount, idle=carried, over_recovery=over, rounding=rounding,
        reserved=reserved, quantities=quantities,
    )  # fmt: skip
