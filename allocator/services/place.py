"""Find a place on an unlocked snapshot, then let the database decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice, zip_longest
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from psycopg.types.json import Jsonb
from psycopg.types.range import Int4Range, TimestamptzRange

from allocator.engine.books import Ints
from allocator.engine.draft import Draft
from allocator.engine.fit import asked_size
from allocator.engine.fleet import Ask, Fleet, Machine
from allocator.engine.search import Ranker
from allocator.engine.view import View
from allocator.events import CapacityFreed, DesiredChanged, LeaseEnded
from allocator.models import Device, Lease
from allocator.services._no_room import no_room
from allocator.services._picture import PICTURE, Seen
from allocator.services._policies import check_policy, parts_of
from allocator.services._snapshot import ask_of
from allocator.services.line import keep_clear
from plumbing import outbox
from plumbing.db import transaction_required
from vxpu.ids import new_uuid
from vxpu.market import Candidate, KeptRoom, Wish
from vxpu.slices import Slice
from vxpu.states import Isolation

CANDIDATES = 8
# Of a cut card that was refused for its start: how many others are tried.
STARTS = 3

_BOOK = "SELECT refusal, lapsed FROM allocator_book(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


def propose(
    *,
    wish: Wish,
    now: datetime,
    kept: Sequence[KeptRoom] = (),
    only: Callable[[Machine], bool] | None = None,
    limit: int = CANDIDATES,
) -> list[Candidate]:
    """The best devices for the wish beside rooms that are `kept` for others, best first, at most `limit`; of nodes that
    `only` lets pass. Raises DoesNotFit with the reasons and the ways, PolicyNotAllowed, Invalid for a policy or a pool
    that there is not.

    No lock is taken: only `book` decides.
    """
    ask = ask_of(wish)
    with PICTURE.look(now=now) as seen:
        keep_clear(seen.draft, kept)
        machines = seen.draft.layout.machines
        within = None if only is None else np.array([row for row, one in enumerate(machines) if only(one)], np.int64)
        found = list(islice(_ranked(seen, ask, wish, within, limit), limit))
        if found:
            return found
        check_policy(seen.draft, wish, seen.rules)
        raise no_room(draft=_draft_for(seen, wish), ask=ask)


def _draft_for(seen: Seen, wish: Wish) -> Draft:
    """What a refusal speaks of: all devices, or the one that was named."""
    if wish.device_id is None or wish.device_id not in seen.draft.layout.place_of:
        return seen.draft
    card = seen.draft.card(wish.device_id)
    return Draft.of(Fleet.of([card], [seen.draft.machine(card.node_id)]))


def count_places(view: View, ask: Ask) -> int:
    """On how many devices of the view the ask would fit."""
    takes, fits = view.rows_that_fit(ask, slice(None))
    return int(fits[takes].sum())


def _ranked(seen: Seen, ask: Ask, wish: Wish, within: Ints | None, limit: int) -> Iterator[Candidate]:
    for part, rule in parts_of(seen.draft, ask, wish, seen.rules):
        policy = rule.policy_for(wish.policy)
        view = seen.draft.view(part.starts, part.ends)
        ranker = Ranker(view, policy)
        best = ranker.rank(part, limit=limit, within=within)
        fitted = count_places(view, part) if best else 0
        for place, following in zip_longest(best, best[1:]):
            row, column = place.row, place.columns[0]
            card = view.layout.cards[row][column]
            size, slots = asked_size(card, part), view.free_slots(row, column, part)
            yield Candidate(
                device_id=card.device_id,
                node_id=card.node_id,
                score=place.score,
                terms=ranker.explain(part, place),
                policy=policy.name,
                fitted=fitted,
                runner_up=None if following is None else following.score,
                slice=Slice(memory_mib=size.mib, share_permille=size.permille),
                slots=None if slots is None or part.whole else (slots.start, slots.start + slots.length),
            )


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
        ask_for = partial(
            _ask_database, lease_id, tenant_id=tenant_id, owner=owner, wish=wish, hold_until=hold_until, now=now
        )
        refusal, lapsed = ask_for(candidate=candidate)
        for _ in range(STARTS):  # its device alone was named, or somebody was quicker with that start
            if refusal == "mig_slot":
                refusal, lapsed = ask_for(candidate=_with_slots(candidate, wish, now=now))
        if lapsed:
            announce_lapsed(lease_ids=lapsed, now=now, operator_tenant=operator_tenant)
        if refusal is None:
            if wish.device_id is not None:
                Lease.objects.filter(pk=lease_id).update(pinned=True)
            lease = Lease.objects.get(pk=lease_id)
            if hold_until is None and lease.starts_at <= now:
                outbox.publish(DesiredChanged(tenant_id=operator_tenant, node_id=lease.node_id))
            return lease
        refusals[refusal] = refusals.get(refusal, 0) + 1
    with PICTURE.look(now=now) as seen:
        error = no_room(draft=_draft_for(seen, wish), ask=ask_of(wish))
    if not error.data["constraints"]:  # it fits again in a later snapshot, but the tries are used up
        error.data["constraints"] = refusals
    raise error


def _with_slots(candidate: Candidate, wish: Wish, *, now: datetime) -> Candidate:
    """The same device with the smallest part that holds the wish, at a free start; as it was if there is none."""
    ask = ask_of(wish)
    with PICTURE.look(now=now) as seen:
        if candidate.device_id not in seen.draft.layout.place_of:
            return candidate
        row, column = seen.draft.layout.place_of[candidate.device_id]
        card = seen.draft.layout.cards[row][column]
        size, slots = asked_size(card, ask), seen.draft.view(ask.starts, ask.ends).free_slots(row, column, ask)
    if slots is None:
        return candidate
    piece = Slice(memory_mib=size.mib, share_permille=size.permille)
    return replace(candidate, slice=piece, slots=(slots.start, slots.start + slots.length))


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
    piece = candidate.slice or wish.slice
    values: list[Any] = [
        lease_id, new_uuid(), tenant_id, owner, candidate.device_id, piece.share_permille, piece.memory_mib,
        period, whole, hold_until, now, wish.copy_permille, wish.cores_milli, wish.host_mib,
        None if candidate.slots is None else Int4Range(*candidate.slots), Jsonb(wanted_of(wish)),
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_BOOK, values)
        refusal, lapsed = cursor.fetchone()
    return refusal, list(lapsed)


def wanted_of(wish: Wish) -> dict[str, Any]:
    """What stays with the lease beside its size."""
    found = {
        "kind": wish.device_kind, "models": list(wish.models), "pool": wish.pool, "site": wish.site, "near": wish.near,
        "isolation": wish.isolation_at_least, "policy": wish.policy, "devices": wish.devices,
        "group": None if wish.group is None else str(wish.group), "together": wish.together,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


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
