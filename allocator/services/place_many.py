"""Many wishes at once: one snapshot and one search for all, then one statement that books them in a safe order."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from allocator.engine.fail_over import Need, Spot, place_all
from allocator.engine.fleet import Ask
from allocator.engine.policies.base import Policy
from allocator.events import DesiredChanged
from allocator.models import Lease
from allocator.services._picture import PICTURE, Seen
from allocator.services._policies import parts_of
from allocator.services._snapshot import ask_of
from allocator.services.place import announce_lapsed, wanted_of
from plumbing import outbox
from plumbing.db import transaction_required
from plumbing.errors import DomainError
from vxpu.ids import new_uuid
from vxpu.market import Candidate, Claim, Wish
from vxpu.slices import Slice
from vxpu.states import Isolation

log = logging.getLogger(__name__)

# `allocator_book` for each row, in the order of the arrays. The devices, then the hosts, are locked before, by
# ascending id: two such statements wait for each other in a line.
_BOOK_ALL = """
SELECT t.owner, t.lease, b.refusal, b.lapsed
  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::int[], %s::bigint[], %s::timestamptz[],
              %s::timestamptz[], %s::boolean[], %s::int[], %s::bigint[], %s::bigint[], %s::int[], %s::int[], %s::text[])
       AS t (lease, segment, tenant, owner, device, permille, mib, starts_at, ends_at, whole, copy, cores, host_mib,
             first_slot, end_slot, wanted),
       LATERAL allocator_book(t.lease, t.segment, t.tenant, t.owner, t.device, t.permille, t.mib,
                              tstzrange(t.starts_at, t.ends_at), t.whole, NULL, %s, t.copy, t.cores, t.host_mib,
                              CASE WHEN t.first_slot IS NOT NULL THEN int4range(t.first_slot, t.end_slot) END,
                              t.wanted::jsonb) b
"""
_STANDBY = "SELECT set_config('vxpu.failover', %s, true)"


class Booked(NamedTuple):
    """By owner: what was granted, and why not."""

    leases: dict[UUID, Lease]
    refusals: dict[UUID, str]


def find_places(*, wishes: Mapping[UUID, Wish], now: datetime) -> dict[UUID, Spot]:
    """A place for each wish (by whose it is) that has one, all of them together; in order of seniority.

    For what was lost: nodes that stand by are used first. No lock is taken: only `book_all` decides.
    """
    if not wishes:
        return {}
    with PICTURE.look(now=now) as seen:
        needs = [Need(key=owner, parts=_parts_of(seen, wish)) for owner, wish in wishes.items()]
        return place_all(seen.draft, needs)


def _parts_of(seen: Seen, wish: Wish) -> tuple[tuple[Ask, Policy], ...]:
    """None for a wish that names a pool or a policy that there is not any more: it waits."""
    try:
        return tuple(
            (part, rule.policy_for(wish.policy)) for part, rule in parts_of(seen.draft, ask_of(wish), wish, seen.rules)
        )
    except DomainError:
        log.warning("No place is looked for: %s", wish, exc_info=True)
        return ()


def candidate_of(spot: Spot) -> Candidate:
    """As other rooms know it."""
    slots = None if spot.slots is None else (spot.slots.start, spot.slots.start + spot.slots.length)
    size = Slice(memory_mib=spot.size.mib, share_permille=spot.size.permille)
    return Candidate(device_id=spot.device_id, node_id=spot.node_id, score=spot.score, slice=size, slots=slots)


@transaction_required
def book_all(*, claims: Sequence[Claim], now: datetime, operator_tenant: UUID) -> Booked:
    """Each claim by the SQL function, which has the last word on each for itself: a refusal loses no other.

    The devices are locked by ascending id, all until the caller's commit.
    """
    ordered = sorted(claims, key=lambda claim: claim.place.device_id)
    rows = _ask_database(ordered, now=now)
    lapsed = [lease_id for *_, found in rows for lease_id in found]
    if lapsed:
        announce_lapsed(lease_ids=lapsed, now=now, operator_tenant=operator_tenant)
    granted = {lease_id: owner for owner, lease_id, refusal, _ in rows if refusal is None}
    leases = {granted[lease.pk]: lease for lease in Lease.objects.filter(pk__in=granted)}
    nodes = sorted({lease.node_id for lease in leases.values() if lease.starts_at <= now})
    outbox.publish_all(DesiredChanged(tenant_id=operator_tenant, node_id=node_id) for node_id in nodes)
    return Booked(leases, {owner: refusal for owner, _, refusal, _ in rows if refusal is not None})


def _ask_database(claims: Sequence[Claim], *, now: datetime) -> list[tuple[UUID, UUID, str | None, list[UUID]]]:
    if not claims:
        return []
    values = [_values_of(claim) for claim in claims]
    with connection.cursor() as cursor:
        cursor.execute(_STANDBY, ["on"])
        with_hosts = any(claim.wish.cores_milli or claim.wish.host_mib for claim in claims)
        cursor.execute("SELECT allocator_lock_group(%s, %s)", [[claim.place.device_id for claim in claims], with_hosts])
        cursor.execute(_BOOK_ALL, [*(list(column) for column in zip(*values, strict=True)), now])
        rows: list[tuple[UUID, UUID, str | None, list[UUID]]] = cursor.fetchall()
        cursor.execute(_STANDBY, [""])
    return rows


def _values_of(claim: Claim) -> tuple[Any, ...]:
    wish, place = claim.wish, claim.place
    size = place.slice or wish.slice
    first, end = place.slots or (None, None)
    return (
        new_uuid(), new_uuid(), claim.tenant_id, claim.owner, place.device_id, size.share_permille, size.memory_mib,
        wish.period.starts_at, wish.period.ends_at, wish.isolation_at_least == Isolation.EXCLUSIVE, wish.copy_permille,
        wish.cores_milli, wish.host_mib, first, end, json.dumps(wanted_of(wish)),
    )  # fmt: skip
