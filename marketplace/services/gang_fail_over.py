"""Members of a gang that have lost their places get others together, beside those that go on; or none of them does."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from allocator import facade as allocator
from marketplace.errors import GangBroken
from marketplace.models import Gang, Reservation, ReservationState, Together
from marketplace.selectors import gangs
from marketplace.services._quota import check_quota
from marketplace.services._relocation import RUNNING, Bound, is_wanted, note_bound, rebook, wish_from_now
from marketplace.services.wish import slice_of
from plumbing import db
from plumbing.errors import DomainError
from vxpu.market import Candidate, Claim, Wish
from vxpu.slices import Period, Slice

log = logging.getLogger(__name__)


def list_together(rows: Iterable[Reservation]) -> dict[UUID, UUID]:
    """The gang of each of these that may only be placed with the others of its gang."""
    found = {row.pk: row.gang_id for row in rows if row.gang_id is not None}
    ruled = gangs.gangs().filter(pk__in=set(found.values())).exclude(together=Together.ANY)
    bound = set(ruled.values_list("pk", flat=True))
    return {row_id: gang_id for row_id, gang_id in found.items() if gang_id in bound}


def place_lost(*, gang_id: UUID, now: datetime) -> dict[UUID, Reservation]:
    """By id, the members that got another place: all that had lost theirs, or none, who wait for the next look."""
    members = list(gangs.list_gang(gang_id=gang_id))
    live = {lease.id for lease in allocator.list_leases(owners=[row.pk for row in members]) if lease.is_live}
    lost = {
        row.pk: row for row in members
        if row.state in RUNNING | {ReservationState.MOVING} and row.lease_id not in live and is_wanted(row, now=now)
    }  # fmt: skip
    beside = [row.device_id for row in members if row.lease_id in live and row.device_id is not None]
    if not lost:
        return {}
    try:
        claims = _find_places(gangs.get_gang(gang_id=gang_id), list(lost.values()), beside, now=now)
        bound = _book(claims=claims, seen=lost, now=now)
    except (DomainError, IntegrityError) as error:
        log.info("Gang %s: %d members wait for a place together: %s", gang_id, len(lost), error)
        return {}
    for row in lost.values():
        note_bound(row, bound[row.pk], now=now)
    return lost


def _find_places(gang: Gang, rows: Sequence[Reservation], beside: Collection[UUID], *, now: datetime) -> list[Claim]:
    """A place that takes the largest of them takes each. Raises DoesNotFit."""
    wishes = [replace(wish_from_now(row, now=now), devices=_devices(gang)) for row in rows]
    places = allocator.propose_gang(
        wish=_largest(wishes), count=len(rows), together=gang.together, now=now, beside=beside
    )
    return [
        Claim(owner=row.pk, tenant_id=row.tenant_id, wish=wish, place=_own(place, wish, _largest(wishes)))
        for row, wish, place in zip(rows, wishes, places, strict=True)
    ]


def _devices(gang: Gang) -> int:
    return gang.count if gang.together == Together.NODE else 1


def _largest(wishes: Sequence[Wish]) -> Wish:
    """Members differ in size and period only, after a resize or an extension."""
    ends = [wish.period.ends_at for wish in wishes]
    return replace(
        wishes[0],
        slice=Slice(
            memory_mib=max(wish.slice.memory_mib for wish in wishes),
            share_permille=max(wish.slice.share_permille for wish in wishes),
        ),
        period=Period(
            starts_at=min(wish.period.starts_at for wish in wishes),
            ends_at=None if None in ends else max(end for end in ends if end is not None),
        ),
        host_mib=max(wish.host_mib for wish in wishes), cores_milli=max(wish.cores_milli for wish in wishes),
    )  # fmt: skip


def _own(place: Candidate, wish: Wish, largest: Wish) -> Candidate:
    """Its own size there, unless the device or its cut says which."""
    return replace(place, slice=wish.slice) if place.slice == largest.slice else place


@db.transaction
def _book(*, claims: Sequence[Claim], seen: dict[UUID, Reservation], now: datetime) -> dict[UUID, Bound]:
    """All of them. Raises GangBroken, QuotaExceeded."""
    bound, _ = rebook(claims=claims, seen=seen, now=now)
    if len(bound) < len(claims):
        raise GangBroken(suggestion="Look again.")
    for claim in claims:
        row = seen[claim.owner]
        if claim.place.slice is not None and claim.place.slice != slice_of(row):  # as the device is, or its cut
            check_quota(
                tenant_id=row.tenant_id, project_id=row.project_id, piece=claim.place.slice, period=claim.wish.period,
                leave_out=row.pk, is_new=False,
            )  # fmt: skip
    return bound
