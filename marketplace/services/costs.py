"""What a tenant's reservations cost over a range: by project, class, day or reservation, from what was charged.

Amounts are exact until they are shown: of each kind the total is rounded once, two decimals beyond the minor unit, and
shared over the rows by largest remainder. So rows add up to their total, and the total is the same however it is
grouped. What was invoiced is told beside it, to the cent of the invoices' lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from billing import facade as billing
from identity import facade as identity
from marketplace import selectors
from marketplace.errors import WrongPeriod
from marketplace.models import TAKES_CAPACITY, Placement, Reach
from marketplace.services.rate import is_unrated
from plumbing import db
from vxpu.ids import encode
from vxpu.money import AccountView, ChargeKind, CostCell, InvoicedCell
from vxpu.states import Quality

LONGEST = timedelta(days=400)
GROUPS = ("project", "class", "day", "reservation")
K = ChargeKind
READ = (K.USED, K.IDLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A row, or the total. Amounts are for showing, `invoiced` is exact; quantities are permille-seconds of a device.

    `amounts` and `quantities` are by kind. Where no use could be read, `quality` is unavailable and used and idle are
    not known; where a part could not, it is estimated, and `delivered` says how much.
    """

    key: str
    label: str
    amounts: dict[ChargeKind, Decimal]
    quantities: dict[ChargeKind, int]
    invoiced: Decimal
    quality: Quality

    @property
    def amount(self) -> Decimal:
        return sum(self.amounts.values(), Decimal(0))

    @property
    def allocated(self) -> int:
        """Delivered, used or not."""
        return sum(quantity for kind, quantity in self.quantities.items() if kind != K.RESERVED)

    @property
    def knows_use(self) -> bool:
        return self.quality != Quality.UNAVAILABLE

    def amount_of(self, kind: ChargeKind) -> Decimal | None:
        """None for used and idle where the use cannot be read."""
        return None if kind in READ and not self.knows_use else self.amounts[kind]

    def quantity_of(self, kind: ChargeKind) -> int | None:
        return None if kind in READ and not self.knows_use else self.quantities[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """One snapshot, as of `as_of`."""

    starts_at: datetime
    ends_at: datetime
    zone: str
    currency: str
    as_of: datetime
    group: str
    total: Cost
    items: list[Cost]


@dataclass(slots=True)
class _Row:
    """A row being added up."""

    exact: dict[ChargeKind, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    quantities: dict[ChargeKind, int] = field(default_factory=lambda: defaultdict(int))
    invoiced: Decimal = Decimal(0)
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class _Range:
    """The parts that are told apart, with their days."""

    edges: list[datetime]
    days: list[str]


def costs(*, tenant_id: UUID, reach: Reach, starts_at: datetime, ends_at: datetime, group: str, now: datetime) -> Costs:
    """Of the reservations within `reach`. Raises WrongPeriod, NoAccount."""
    if not starts_at < ends_at <= starts_at + LONGEST:
        raise WrongPeriod(
            f"From {starts_at.isoformat()} to {ends_at.isoformat()} is not 0 to {LONGEST.days} days.",
            suggestion=f"Ask for at most {LONGEST.days} days, `to` after `from`.",
        )
    with db.snapshot():
        account = billing.get_account(tenant_id=tenant_id)
        parts = _parts(account, starts_at, ends_at, by_day=group == "day")
        charged = billing.cost_cells(account_id=account.id, edges=parts.edges)
        invoiced = billing.invoiced_cells(account_id=account.id, edges=parts.edges)
        sources = {cell.source for cell in charged} | {cell.source for cell in invoiced}
        placed = {one.lease_id: one for one in selectors.placements_by_lease(leases=sources, reach=reach)}
        projects = {project.id: project.name for project in identity.list_projects(tenant_id=tenant_id)}
    named = _namer(group, parts, projects)
    rows: dict[tuple[str, str], _Row] = {(day, day): _Row() for day in parts.days} if group == "day" else {}
    _add_up(rows, charged, invoiced, placed, named, parts, now=now)
    items = _items(rows, currency=account.currency)
    order = (lambda cost: cost.key) if group == "day" else _largest_first
    return Costs(
        starts_at=starts_at, ends_at=ends_at, zone=account.zone, currency=account.currency, as_of=now, group=group,
        total=_total(items, currency=account.currency), items=sorted(items, key=order),
    )  # fmt: skip


def _largest_first(cost: Cost) -> tuple[Decimal, str]:
    return -cost.amount, cost.key


def _parts(account: AccountView, starts_at: datetime, ends_at: datetime, *, by_day: bool) -> _Range:
    """Local days of the account: 23 and 25 hours where the clocks change."""
    if not by_day:
        return _Range([starts_at, ends_at], [])
    days = billing.days_between(starts_at, ends_at, account.zone)
    return _Range([*(span.starts_at for _, span in days), ends_at], [day.isoformat() for day, _ in days])


def _namer(group: str, parts: _Range, projects: dict[UUID, str]) -> Callable[[Placement, int], tuple[str, str]]:
    """(key, label) of what a cell belongs to."""

    def of_project(placement: Placement, cell: int) -> tuple[str, str]:  # noqa: ARG001 - one signature for all
        project_id = placement.reservation.project_id
        return encode("prj", project_id), projects.get(project_id, "")

    def of_class(placement: Placement, cell: int) -> tuple[str, str]:  # noqa: ARG001
        name = placement.reservation.sku or placement.device_model
        return name, name

    def of_day(placement: Placement, cell: int) -> tuple[str, str]:  # noqa: ARG001
        return parts.days[cell], parts.days[cell]

    def of_reservation(placement: Placement, cell: int) -> tuple[str, str]:  # noqa: ARG001
        row = placement.reservation
        return encode("rsv", row.pk), row.name or encode("rsv", row.pk)

    return {"project": of_project, "class": of_class, "day": of_day, "reservation": of_reservation}[group]


def _add_up(
    rows: dict[tuple[str, str], _Row],
    charged: Sequence[CostCell],
    invoiced: Sequence[InvoicedCell],
    placed: dict[UUID, Placement],
    named: Callable[[Placement, int], tuple[str, str]],
    parts: _Range,
    *,
    now: datetime,
) -> None:
    for cell in charged:
        if placement := placed.get(cell.source):
            row = rows.setdefault(named(placement, cell.cell), _Row())
            row.exact[K(cell.kind)] += cell.amount
            row.quantities[K(cell.kind)] += cell.quantity
            row.is_open = row.is_open or _is_open(placement, parts.edges[cell.cell + 1], now=now)
    for part in invoiced:
        if placement := placed.get(part.source):
            rows.setdefault(named(placement, part.cell), _Row()).invoiced += part.amount


def _is_open(placement: Placement, ends_at: datetime, *, now: datetime) -> bool:
    """Whether charges of the time before `ends_at` may still change: not rated since it was over."""
    row = placement.reservation
    unsettled = row.state in TAKES_CAPACITY or is_unrated(row, now=now)
    return unsettled and (row.rated_through is None or row.rated_through < min(ends_at, row.ends_at or ends_at))


def _items(rows: dict[tuple[str, str], _Row], *, currency: str) -> list[Cost]:
    shown = {kind: billing.share_fine([row.exact[kind] for row in rows.values()], currency) for kind in K}
    return [
        Cost(
            key=key, label=label, amounts={kind: shown[kind][number] for kind in K},
            quantities={kind: row.quantities[kind] for kind in K},
            invoiced=billing.round_half_up(row.invoiced, currency), quality=_quality(row),
        )
        for number, ((key, label), row) in enumerate(rows.items())
    ]  # fmt: skip


def _quality(row: _Row) -> Quality:
    unread = row.quantities[K.DELIVERED]
    if unread and not any(row.quantities[kind] for kind in READ):
        return Quality.UNAVAILABLE
    return Quality.ESTIMATED if unread or row.is_open else Quality.MEASURED


def _total(items: Sequence[Cost], *, currency: str) -> Cost:
    quantities = {kind: sum(item.quantities[kind] for item in items) for kind in K}
    nothing = billing.round_fine(Fraction(0), currency)
    qualities = {item.quality for item in items if item.allocated or item.quality == Quality.ESTIMATED}
    if not qualities or qualities == {Quality.MEASURED}:
        quality = Quality.MEASURED
    else:
        quality = Quality.UNAVAILABLE if qualities == {Quality.UNAVAILABLE} else Quality.ESTIMATED
    return Cost(
        key="total", label="", quantities=quantities,
        amounts={kind: sum((item.amounts[kind] for item in items), nothing) for kind in K},
        invoiced=sum((item.invoiced for item in items), billing.round_half_up(Decimal(0), currency)), quality=quality,
    )  # fmt: skip
