"""Many wishes at once: one snapshot and one search for all, then one statement that books them together."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from allocator.engine.fail_over import Need, Spot, place_all
from allocator.engine.fit import Size
from allocator.engine.fleet import Ask
from allocator.engine.mig import Slots
from allocator.engine.policies.base import Policy
from allocator.events import DesiredChanged
from allocator.services._ahead import AHEAD_OF_VERDICT, Prepared
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

_BOOK = "SELECT refusals, lapsed FROM allocator_book_lost(%s::jsonb, %s)"


class Booked(NamedTuple):
    """By owner: the lease that was granted, or why none was."""

    leases: dict[UUID, UUID]
    refusals: dict[UUID, str]


def find_places(
    *, wishes: Mapping[UUID, Wish], tenants: Mapping[UUID, UUID], beside: Sequence[Claim], now: datetime
) -> list[Claim]:
    """A place for each wish (by whose it is, in order of seniority) that has one: all of them together, and `beside`.

    For what was lost: nodes that stand by are used first. No lock is taken: only `book_all` decides.
    """
    if not wishes:
        return []
    with PICTURE.look(now=now) as seen:
        kept = {claim.owner: claim for claim in beside}
        found = _place_all(seen, {**{owner: claim.wish for owner, claim in kept.items()}, **wishes}, kept)
        return [claim_of(owner, tenants[owner], wishes[owner], found[owner]) for owner in found if owner in wishes]


def look_ahead(
    *, wishes: Mapping[UUID, Wish], tenants: Mapping[UUID, UUID], leaving: Collection[UUID], now: datetime
) -> None:
    """The same for what runs on the nodes `leaving` and may soon be lost. This process keeps it for `give_out`."""
    with PICTURE.look(now=now) as seen:
        good = AHEAD_OF_VERDICT.still_good(wishes)
        kept = {one.claim.owner: one for one in good if one.claim.place.node_id not in leaving}
        found = _place_all(seen, wishes, {owner: one.claim for owner, one in kept.items()}, leaving)
        new = [claim_of(owner, tenants[owner], wishes[owner], found[owner]) for owner in found if owner not in kept]
        AHEAD_OF_VERDICT.keep([*kept.values(), *map(_prepare, new)], snapshot=seen.snapshot)


def _place_all(
    seen: Seen, wishes: Mapping[UUID, Wish], kept: Mapping[UUID, Claim], leaving: Collection[UUID] = ()
) -> dict[UUID, Spot]:
    needs = [Need(key=owner, parts=_parts_of(seen, wish)) for owner, wish in wishes.items()]
    spots = {owner: _spot_of(claim) for owner, claim in kept.items()}
    return place_all(seen.draft, needs, kept=spots, leaving=leaving)


def keep_ready(*, now: datetime) -> None:
    """Catches this process's picture up: who looks often has little to read when it matters."""
    with PICTURE.look(now=now):
        pass


def _parts_of(seen: Seen, wish: Wish) -> tuple[tuple[Ask, Policy], ...]:
    """None for a wish that names a pool or a policy that there is not any more: it waits."""
    try:
        return tuple(
            (part, rule.policy_for(wish.policy)) for part, rule in parts_of(seen.draft, ask_of(wish), wish, seen.rules)
        )
    except DomainError:
        log.warning("No place is looked for: %s", wish, exc_info=True)
        return ()


def claim_of(owner: UUID, tenant_id: UUID, wish: Wish, spot: Spot) -> Claim:
    """As other rooms know it."""
    slots = None if spot.slots is None else (spot.slots.start, spot.slots.start + spot.slots.length)
    size = Slice(memory_mib=spot.size.mib, share_permille=spot.size.permille)
    place = Candidate(device_id=spot.device_id, node_id=spot.node_id, score=spot.score, slice=size, slots=slots)
    return Claim(owner=owner, tenant_id=tenant_id, wish=wish, place=place, standby=spot.standby)


def _spot_of(claim: Claim) -> Spot:
    place, size = claim.place, claim.place.slice or claim.wish.slice
    slots = None if place.slots is None else Slots(place.slots[0], place.slots[1] - place.slots[0])
    taken = Size(size.share_permille, size.memory_mib)
    return Spot(place.device_id, place.node_id, place.score, taken, slots, claim.standby)


@transaction_required
def book_all(*, claims: Sequence[Claim], now: datetime, operator_tenant: UUID) -> Booked:
    """Each claim by the database, which has the last word on each for itself: a refusal loses no other.

    The devices are locked by ascending id, all until the caller's commit.
    """
    if not claims:
        return Booked({}, {})
    ordered = sorted(claims, key=lambda claim: claim.place.device_id.bytes)
    prepared = [AHEAD_OF_VERDICT.prepared(claim) or _prepare(claim) for claim in ordered]
    leases = {one.claim.owner: one.lease_id for one in prepared}
    with connection.cursor() as cursor:
        cursor.execute(_BOOK, [f"[{','.join(one.asked for one in prepared)}]", now])
        told, lapsed = cursor.fetchone()
    refusals = json.loads(told)
    if lapsed:
        announce_lapsed(lease_ids=lapsed, now=now, operator_tenant=operator_tenant)
    refused = {owner: refusals[str(lease)] for owner, lease in leases.items() if str(lease) in refusals}
    won = [claim for claim in claims if claim.owner not in refused]
    nodes = sorted({claim.place.node_id for claim in won if claim.wish.period.starts_at <= now})
    outbox.publish_all(DesiredChanged(tenant_id=operator_tenant, node_id=node_id) for node_id in nodes)
    return Booked({claim.owner: leases[claim.owner] for claim in won}, refused)


def _prepare(claim: Claim) -> Prepared:
    lease_id = new_uuid()
    return Prepared(claim, lease_id, json.dumps(_asked(claim, lease_id)))


def _asked(claim: Claim, lease_id: UUID) -> dict[str, Any]:
    """A claim as `allocator_book_lost` reads it."""
    wish, place = claim.wish, claim.place
    size = place.slice or wish.slice
    first, end = place.slots or (None, None)
    ends_at = wish.period.ends_at
    return {
        "lease": str(lease_id), "segment": str(new_uuid()), "tenant": str(claim.tenant_id), "owner": str(claim.owner),
        "device": str(place.device_id), "permille": size.share_permille, "mib": size.memory_mib,
        "starts_at": wish.period.starts_at.isoformat(), "ends_at": None if ends_at is None else ends_at.isoformat(),
        "whole": wish.isolation_at_least == Isolation.EXCLUSIVE, "copy": wish.copy_permille,
        "cores": wish.cores_milli, "host_mib": wish.host_mib, "first_slot": first, "end_slot": end,
        "wanted": wanted_of(wish),
    }  # fmt: skip
