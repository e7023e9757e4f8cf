"""Reads. get_x = exactly one or raises; find_x = maybe None; list_x = many, in a stated order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from marketplace.models import (
    ANY_SKU,
    ENDED,
    EVERYWHERE,
    LIST_SCOPE,
    SINCE_EVER,
    TAKES_CAPACITY,
    Eviction,
    Meter,
    Notice,
    Offer,
    Placement,
    Price,
    PriceBook,
    Quota,
    Quote,
    Reach,
    Reservation,
    ReservationEvent,
    ReservationState,
    tenant_scope_name,
)
from marketplace.rating.items import Rate
from plumbing import feed
from plumbing.errors import NotFound
from plumbing.rowsec import system_scope

NEVER_BOOKED = (ReservationState.QUOTED, ReservationState.QUEUED, ReservationState.EXPIRED, ReservationState.REJECTED)


def get_reservation(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> Reservation:
    """Raises NotFound, also for one out of reach."""
    row = reach.rows().filter(pk=reservation_id).first()
    if row is None:
        raise NotFound("There is no such reservation.", suggestion="List yours at /api/v1/reservations.")
    return row


def list_reservations(
    *,
    reach: Reach = EVERYWHERE,
    states: Collection[ReservationState] = (),
    project_id: UUID | None = None,
    name: str = "",
    reservation_id: UUID | None = None,
) -> QuerySet[Reservation]:
    """For paging; an empty filter is no filter. `name` is a part of it, in any case."""
    rows = reach.rows()
    if states:
        rows = rows.filter(state__in=states)
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    if reservation_id is not None:
        rows = rows.filter(pk=reservation_id)
    return rows.filter(name__icontains=name) if name else rows


def get_quote(*, quote_id: UUID, reach: Reach = EVERYWHERE) -> Quote:
    """Raises NotFound, also for one out of reach."""
    row = reach.limit(Quote.objects.all()).filter(pk=quote_id).first()
    if row is None:
        raise NotFound("There is no such quote.", suggestion="Ask for a new one at /api/v1/quotes.")
    return row


def list_events(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> QuerySet[ReservationEvent]:
    """Oldest first. Raises NotFound."""
    row = get_reservation(reservation_id=reservation_id, reach=reach)
    return ReservationEvent.objects.filter(reservation=row).order_by("version")


def list_evictions(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> QuerySet[Eviction]:
    """For paging. Raises NotFound."""
    row = get_reservation(reservation_id=reservation_id, reach=reach)
    return Eviction.objects.filter(reservation=row)


def list_transitions(
    *, reach: Reach, reservation_id: UUID | None, to_state: str, before: feed.Place | None, limit: int
) -> list[ReservationEvent]:
    """Newest first, without the way back from a change. An empty filter is none."""
    rows = ReservationEvent.objects.select_related("reservation").exclude(from_state=ReservationState.RESIZING)
    if reach.tenant_id is not None:
        rows = rows.filter(tenant_id=reach.tenant_id)
    if reach.project_ids is not None:
        rows = rows.filter(reservation__project_id__in=reach.project_ids)
    if reservation_id is not None:
        rows = rows.filter(reservation_id=reservation_id)
    if to_state:
        rows = rows.filter(to_state=to_state)
    return feed.newest(rows, column="at", before=before, limit=limit)


def list_notices(*, reach: Reach, subject: str, before: feed.Place | None, limit: int) -> list[Notice]:
    """Newest first; what concerns a whole tenant is for all of its members."""
    rows = Notice.objects.all() if reach.tenant_id is None else Notice.objects.filter(tenant_id=reach.tenant_id)
    if reach.project_ids is not None:
        rows = rows.filter(Q(project_id=None) | Q(project_id__in=reach.project_ids))
    if subject:
        rows = rows.filter(subject=subject)
    return feed.newest(rows, column="created_at", before=before, limit=limit)


def list_published(*, tenant_id: UUID | None, before: feed.Place | None, limit: int) -> list[Price]:
    """Prices as they were published, newest first: the list's and the tenant's own; None is everybody's."""
    rows = Price.objects.exclude(valid__startswith=SINCE_EVER)
    if tenant_id is not None:
        rows = rows.filter(scope__in=[LIST_SCOPE, tenant_scope_name(tenant_id)])
    with system_scope():
        return feed.newest(rows, column="created_at", before=before, limit=limit)


def list_queued() -> QuerySet[Reservation]:
    """Oldest wish first: seniority is the order of asking."""
    queued = Reservation.objects.filter(state=ReservationState.QUEUED)
    return queued.select_related("gang").order_by("created_at", "id")


def is_room_kept() -> bool:
    """Whether anybody in line has a planned place: asked before each purchase, so it goes past the models."""
    with connection.cursor() as cursor:
        cursor.execute(_ROOM_IS_KEPT, [ReservationState.QUEUED.value])
        return bool(cursor.fetchone()[0])


def list_followed(*, now: datetime) -> QuerySet[Reservation]:
    """Those with a lease to follow, or with time that is not rated yet; oldest first."""
    live = Q(state__in=TAKES_CAPACITY)
    taken_back = Q(state=ReservationState.CANCELLED, ended_at__lte=F("starts_at"))
    unrated = (
        Q(starts_at__lte=now)
        & ~taken_back
        & (Q(rated_through__isnull=True) | Q(rated_through__lt=Coalesce("ends_at", "ended_at")))
    )
    on_the_way = Q(state=ReservationState.PREEMPTED)
    booked = Reservation.objects.exclude(state__in=NEVER_BOOKED).filter(lease_id__isnull=False)
    return booked.filter(live | unrated | on_the_way).order_by("created_at", "id")


def list_preemptible() -> QuerySet[Reservation]:
    """Running, and bought as preemptible; oldest first. Without a member the rest of a gang is of no use: none is."""
    rows = Reservation.objects.filter(
        preemptible=True, state=ReservationState.ACTIVE, released_at__isnull=True, gang__isnull=True
    )
    return rows.order_by("created_at", "id")


def list_waiting_to_start(*, now: datetime) -> QuerySet[Reservation]:
    """Confirmed for later: those whom freed capacity may serve earlier, in the order of asking."""
    return Reservation.objects.filter(state=ReservationState.CONFIRMED, starts_at__gt=now).order_by("created_at", "id")


def list_placements(*, device_id: UUID) -> list[Placement]:
    return list(Placement.objects.filter(device_id=device_id).order_by("created_at", "id"))


def current_placement(*, reservation_id: UUID) -> Placement:
    """Raises NotFound for one that was never booked."""
    row = Placement.objects.filter(reservation_id=reservation_id, is_current=True).first()
    if row is None:
        raise NotFound("It has no lease.", suggestion="Wait until it is booked.")
    return row


def placements_by_lease(*, leases: Collection[UUID], reach: Reach) -> list[Placement]:
    """With their reservations; those out of reach are left out."""
    rows = Placement.objects.filter(lease_id__in=leases).select_related("reservation")
    if reach.tenant_id is not None:
        rows = rows.filter(tenant_id=reach.tenant_id)
    if reach.project_ids is not None:
        rows = rows.filter(reservation__project_id__in=reach.project_ids)
    return list(rows)


def placements_of(*, reservations: Collection[UUID]) -> list[Placement]:
    """All of these reservations, oldest first."""
    return list(Placement.objects.filter(reservation__in=reservations).order_by("created_at", "id"))


def count_unended(*, tenant_id: UUID, project_id: UUID | None) -> int:
    """Queued ones included. `project_id` None counts the whole tenant."""
    rows = Reservation.objects.filter(tenant_id=tenant_id).exclude(state__in=ENDED)
    return rows.count() if project_id is None else rows.filter(project_id=project_id).count()


_ROOM_IS_KEPT = """
SELECT EXISTS (SELECT 1 FROM marketplace_reservation WHERE state = %s AND planned_device_id IS NOT NULL)
"""

_PRICES = """
SELECT * FROM marketplace_price
 WHERE currency = ANY (%s) AND meter = ANY (%s) AND scope = ANY (%s) AND sku = ANY (%s) AND valid && tstzrange(%s, %s)
 ORDER BY valid
"""

# Running sums over starts (+) and ends (-); at equal instants the ends come first, so back to back fits.
_PEAK = """
WITH taken AS (
    SELECT greatest(starts_at, %(first)s) AS lo, least(ends_at, %(last)s) AS hi, share_permille AS dm, memory_mib AS db
    FROM marketplace_reservation
    WHERE tenant_id = %(tenant)s AND (%(project)s::uuid IS NULL OR project_id = %(project)s)
      AND (%(leave_out)s::uuid IS NULL OR id <> %(leave_out)s)
      AND state = ANY (%(states)s)
      AND tstzrange(starts_at, ends_at) && tstzrange(%(first)s, %(last)s)
), edges AS (
    SELECT lo AS at, dm, db, 1 AS k FROM taken
    UNION ALL SELECT hi, -dm, -db, 0 FROM taken WHERE hi IS NOT NULL
), sums AS (
    SELECT sum(dm) OVER o AS permille, sum(db) OVER o AS mib
    FROM edges WINDOW o AS (ORDER BY at, k ROWS UNBOUNDED PRECEDING)
)
SELECT coalesce(max(permille), 0)::bigint, coalesce(max(mib), 0)::bigint,
       (SELECT count(*) FROM marketplace_reservation
         WHERE tenant_id = %(tenant)s AND (%(project)s::uuid IS NULL OR project_id = %(project)s)
           AND state <> ALL (%(ended)s))
  FROM sums
"""


def peak_and_count(
    *,
    tenant_id: UUID,
    project_id: UUID | None,
    starts_at: datetime,
    ends_at: datetime | None,
    leave_out: UUID | None = None,
) -> tuple[int, int, int]:
    """(permille, MiB, count): the highest sum of overlapping reservations at any instant of the half-open period, and
    how many have not ended, queued ones included, whenever they are."""
    with connection.cursor() as cursor:
        cursor.execute(
            _PEAK,
            {
                "tenant": tenant_id, "project": project_id, "leave_out": leave_out, "first": starts_at, "last": ends_at,
                "states": sorted(TAKES_CAPACITY), "ended": sorted(ENDED),
            },
        )  # fmt: skip
        permille, mib, count = cursor.fetchone()
    return permille, mib, count


def get_offer(*, offer_id: UUID) -> Offer:
    """Offers are the operator's rows, and everybody may read them."""
    with system_scope():
        row = Offer.objects.select_related("profile").filter(pk=offer_id).first()
    if row is None:
        raise NotFound("There is no such offer.", suggestion="See /api/v1/offers.")
    return row


def list_open_offers() -> QuerySet[Offer]:
    """What is sold. The operator's rows: to be read in the system scope."""
    return Offer.objects.select_related("profile").filter(is_open=True).order_by("sku")


def get_book(*, book_id: UUID) -> PriceBook:
    row = PriceBook.objects.filter(pk=book_id).first()
    if row is None:
        raise NotFound("There is no such price book.", suggestion="See /api/v1/price-books.")
    return row


def get_price(*, price_id: UUID) -> Price:
    row = Price.objects.select_related("book").filter(pk=price_id).first()
    if row is None:
        raise NotFound("There is no such price.", suggestion="See the prices of the book.")
    return row


def list_books() -> QuerySet[PriceBook]:
    """For paging."""
    return PriceBook.objects.all()


def list_prices(*, book_id: UUID) -> QuerySet[Price]:
    """For paging. Raises NotFound for an unknown book."""
    return Price.objects.filter(book=get_book(book_id=book_id))


def price_ladder(
    *, tenant_id: UUID | None, currency: str, skus: Sequence[str], meter: Meter, starts_at: datetime, ends_at: datetime
) -> list[list[Rate]]:
    """Prices that touch the period, most specific level first: the tenant's own before the list's, and within each the
    skus in the order given, then ``*``. `tenant_id` None gives list prices only."""
    scopes, names = _levels_of(tenant_id, skus)
    rows = list_prices_between(
        currencies=[currency], scopes=scopes, skus=names, meters=[meter], starts_at=starts_at, ends_at=ends_at
    )
    return ladder_from(rows, tenant_id=tenant_id, currency=currency, skus=skus)


def price_ladders(
    *, tenant_id: UUID, currency: str, skus: Sequence[str], starts_at: datetime, ends_at: datetime
) -> dict[Meter, list[list[Rate]]]:
    """`price_ladder` of every meter, in one read."""
    scopes, names = _levels_of(tenant_id, skus)
    rows = list_prices_between(
        currencies=[currency], scopes=scopes, skus=names, meters=list(Meter), starts_at=starts_at, ends_at=ends_at
    )
    return {
        meter: ladder_from(
            [row for row in rows if row.meter == meter], tenant_id=tenant_id, currency=currency, skus=skus
        )
        for meter in Meter
    }


def _levels_of(tenant_id: UUID | None, skus: Sequence[str]) -> tuple[list[str], list[str]]:
    scopes = ([] if tenant_id is None else [tenant_scope_name(tenant_id)]) + [LIST_SCOPE]
    return scopes, [*dict.fromkeys([*(sku for sku in skus if sku), ANY_SKU])]


def list_prices_between(
    *,
    currencies: Collection[str],
    scopes: Collection[str],
    skus: Collection[str],
    meters: Collection[Meter],
    starts_at: datetime,
    ends_at: datetime,
) -> list[Price]:
    """Prices of these names that touch the period, by start: one read for many ladders."""
    wanted = [list(currencies), [str(meter) for meter in meters], list(scopes), list(skus), starts_at, ends_at]
    with system_scope():
        return list(Price.objects.raw(_PRICES, wanted))


def ladder_from(
    rows: Iterable[Price], *, tenant_id: UUID | None, currency: str, skus: Sequence[str]
) -> list[list[Rate]]:
    """`price_ladder` of prices that are read already."""
    scopes, names = _levels_of(tenant_id, skus)
    levels: dict[tuple[str, str], list[Rate]] = {(scope, sku): [] for scope in scopes for sku in names}
    for row in rows:
        if row.currency == currency and (row.scope, row.sku) in levels:
            levels[row.scope, row.sku].append(Rate(row.id, row.unit_price, row.valid.lower, row.valid.upper))
    return list(levels.values())


def quotas_of(*, tenant_id: UUID) -> list[Quota]:
    """A tenant's row, then those of its projects, unlocked; the defaults stand in for a tenant's that is missing."""
    rows = list(list_quotas(tenant_id=tenant_id))
    return rows if rows and rows[0].project_id is None else [Quota(tenant_id=tenant_id), *rows]


def list_quotas(*, tenant_id: UUID | None) -> QuerySet[Quota]:
    rows = Quota.objects.order_by("tenant_id", F("project_id").asc(nulls_first=True))
    return rows if tenant_id is None else rows.filter(tenant_id=tenant_id)
