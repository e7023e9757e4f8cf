"""Find a place on an unlocked snapshot, then let the database decide."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.range import Int4Range, TimestamptzRange

from allocator.engine import score
from allocator.events import CapacityFreed, DesiredChanged, LeaseEnded
from allocator.models import Device, Lease
from allocator.services._no_room import no_room
from allocator.services._snapshot import ask_of, read_fleet
from allocator.services.line import beside
from plumbing import outbox
from plumbing.db import transaction_required
from plumbing.errors import Invalid
from vxpu.ids import new_uuid
from vxpu.market import Candidate, KeptRoom, Wish
from vxpu.states import Isolation

DEFAULT_POLICY = "binpack"
CANDIDATES = 8

_BOOK = "SELECT refusal, lapsed FROM allocator_book(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


def propose(*, wish: Wish, now: datetime, kept: Sequence[KeptRoom] = ()) -> list[Candidate]:
    """The best devices for the wish beside rooms that are `kept` for others, best first, at most 8. Raises DoesNotFit
    with the reasons and the ways.

    No lock is taken: only `book` decides.
    """
    ask = ask_of(wish)
    fleet = beside(read_fleet(from_at=wish.period.starts_at, now=now, device_id=wish.device_id), kept)
    policy = wish.policy or DEFAULT_POLICY
    try:
        ranked = score.rank(fleet, ask, policy=policy, limit=CANDIDATES)
    except score.UnknownPolicy as error:
        raise Invalid(f"There is no policy {policy!r}.", suggestion="Use binpack or spread.") from error
    if not ranked:
        raise no_room(fleet=fleet, ask=ask)
    return [
        Candidate(device_id=one.card.device_id, node_id=one.card.node_id, score=one.score, terms=one.terms)
        for one in ranked
    ]


@transaction_required
def book(
    *,
    tenant_id: UUID,
    owner: UUID,
    wish: Wish,
    candidates: Sequence[Candidate],
    hold_until: datetime | None,
    now: datetime,
    operator_tenant: UUID,
) -> Lease:
    """Take the first candidate that the SQL function grants. Raises DoesNotFit.

    A lease with `hold_until` is held until then; without, it is assigned at once.
    """
    refusals: dict[str, int] = {}
    for candidate in candidates[:CANDIDATES]:
        lease_id = new_uuid()
        refusal, lapsed = _ask_database(
            lease_id, tenant_id=tenant_id, owner=owner, candidate=candidate, wish=wish, hold_until=hold_until, now=now
        )  # fmt: skip
        if lapsed:
            announce_lapsed(lease_ids=lapsed, now=now, operator_tenant=operator_tenant)
        if refusal is None:
            lease = Lease.objects.get(pk=lease_id)
            if hold_until is None and lease.starts_at <= now:
                outbox.publish(DesiredChanged(tenant_id=operator_tenant, node_id=lease.node_id))
            return lease
        refusals[refusal] = refusals.get(refusal, 0) + 1
    fleet = read_fleet(from_at=wish.period.starts_at, now=now, device_id=wish.device_id)
    error = no_room(fleet=fleet, ask=ask_of(wish))
    if not error.data["constraints"]:  # it fits again in a later snapshot, but the tries are used up
        error.data["constraints"] = refusals
    raise error


def _ask_database(
    lease_id: UUID,
    *,
    tenant_id: UUID,
    owner: UUID,
    candidate: Candidate,
    wish: Wish,
    hold_until: datetime | None,
    now: datetime,
) -> tuple[str | None, list[UUID]]:
    whole = wish.isolation_at_least == Isolation.EXCLUSIVE
    period = TimestamptzRange(wish.period.starts_at, wish.period.ends_at)
    values: list[Any] = [
        lease_id, new_uuid(), tenant_id, owner, candidate.device_id, wish.slice.share_permille, wish.slice.memory_mib,
        period, whole, hold_until, now, wish.copy_permille, wish.cores_milli, wish.host_mib,
        None if candidate.slots is None else Int4Range(*candidate.slots),
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_BOOK, values)
        refusal, lapsed = cursor.fetchone()
    return refusal, list(lapsed)


@transaction_required
def announce_lapsed(*, lease_ids: Sequence[UUID], now: datetime, operator_tenant: UUID) -> None:
    """The news of holds that lapsed."""
    for lease in Lease.objects.filter(pk__in=lease_ids).order_by("pk"):
        outbox.publish(
            LeaseEnded(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now, reason=lease.end_reason)
        )
        outbox.publish(CapacityFreed(tenant_id=operator_tenant, device_id=lease.device_id, at=now))


def devices_with_lapsed_holds(*, now: datetime) -> list[UUID]:
    """By id."""
    found = Lease.objects.filter(state="held", hold_until__lte=now).values_list("device_id", flat=True)
    return list(Device.objects.filter(pk__in=found).order_by("pk").values_list("pk", flat=True))
