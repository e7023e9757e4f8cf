"""Several leases that are booked together, all or none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import connection

from allocator.engine.draft import NotPlaced
from allocator.engine.fit import asked_size
from allocator.engine.fleet import Ask
from allocator.engine.gang import Member, Together, place_gang
from allocator.engine.search import Found, Ranker
from allocator.errors import DoesNotFit
from allocator.models import Lease
from allocator.services import place
from allocator.services._no_room import no_room
from allocator.services._picture import PICTURE, Seen
from allocator.services._policies import PoolRule, check_policy, parts_of
from allocator.services._snapshot import ask_of
from allocator.services.line import keep_clear
from plumbing import db
from plumbing.db import transaction_required
from vxpu.ids import new_uuid
from vxpu.market import Candidate, KeptRoom, Wish
from vxpu.slices import Slice

_LOCK = "SELECT allocator_lock_group(%s, %s)"


def propose_gang(
    *,
    wish: Wish,
    count: int,
    together: str,
    now: datetime,
    kept: Sequence[KeptRoom] = (),
    beside: Collection[UUID] = (),
) -> list[Candidate]:
    """A place for each of `count` equal members, by ascending device id, near those that are on the devices `beside`;
    rooms that are `kept` for others are left alone.

    Raises DoesNotFit with counts (`not_together`: each fits, but not so near), and as `place.propose`.
    """
    near = Together(together)
    wish = replace(wish, devices=count if near is Together.NODE else 1)
    ask = ask_of(wish)
    is_tried = False
    with PICTURE.look(now=now) as seen:
        keep_clear(seen.draft, kept)
        for part, rule in parts_of(seen.draft, ask, wish, seen.rules):
            is_tried = True
            with suppress(NotPlaced):
                return _place(seen, part, rule, wish, count, near, beside)
        check_policy(seen.draft, wish, seen.rules)
        raise _refusal(seen, ask, is_tried=is_tried)


def _place(
    seen: Seen, ask: Ask, rule: PoolRule, wish: Wish, count: int, near: Together, beside: Collection[UUID]
) -> list[Candidate]:
    policy = rule.policy_for(wish.policy)
    mark = seen.draft.mark()
    members = place_gang(
        seen.draft, [ask] * count, together=near, policy=policy, lease_ids=[new_uuid() for _ in range(count)],
        beside=beside,
    )  # fmt: skip
    seen.draft.rollback(mark)
    view = seen.draft.view(ask.starts, ask.ends)
    ranker, fitted = Ranker(view, policy), place.count_places(view, ask)
    return [_candidate(ranker, ask, member, policy.name, fitted) for member in members]


def _candidate(ranker: Ranker, ask: Ask, member: Member, policy: str, fitted: int) -> Candidate:
    """Explained as if it were placed first."""
    card = ranker.view.layout.cards[member.row][member.column]
    terms = ranker.explain(ask, Found(member.row, (member.column,), 0))
    size, slots = asked_size(card, ask), member.slots
    return Candidate(
        device_id=card.device_id, node_id=card.node_id, score=sum(terms.values()), terms=terms, policy=policy,
        fitted=fitted, slice=Slice(memory_mib=size.mib, share_permille=size.permille),
        slots=None if slots is None or ask.whole else (slots.start, slots.start + slots.length),
    )  # fmt: skip


def _refusal(seen: Seen, ask: Ask, *, is_tried: bool) -> DoesNotFit:
    """In the words of a single wish; of all pools together, so that a device counts once."""
    error = no_room(draft=seen.draft, ask=ask)
    view = seen.draft.view(ask.starts, ask.ends)
    fits = int((view.refusals(ask) == -1).sum())
    if is_tried and fits:  # each fits alone: neither a later start nor a smaller size is known to help
        constraints = dict(sorted({**view.counts(ask), "not_together": fits}.items()))
        error.data.update(constraints=constraints, next_free_at=None, nearest=[], alternatives=[])
        told = ", ".join(f"{name}: {number}" for name, number in constraints.items())
        return DoesNotFit(
            f"Each would fit, but not together. Devices by constraint: {told}.",
            suggestion="Ask for fewer, or let them be further apart.", **error.data,
        )  # fmt: skip
    return error


@transaction_required
def book_gang(
    *,
    tenant_id: UUID,
    owners: Sequence[UUID],
    wish: Wish,
    together: str,
    candidates: Sequence[Candidate],
    now: datetime,
    operator_tenant: UUID,
) -> list[Lease]:
    """One lease for each owner on the candidate of the same place in the list, or none. Raises DoesNotFit.

    Each remembers its gang and how near it is to be to the others.

    All devices are locked first, by ascending id, then their hosts by ascending node: groups that cross wait in a line.
    """
    wish = replace(wish, group=new_uuid(), together=str(Together(together)))
    with_hosts = bool(wish.cores_milli or wish.host_mib)
    with db.savepoint():
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [[candidate.device_id for candidate in candidates], with_hosts])
        return [
            place.book(
                tenant_id=tenant_id, owner=owner, wish=wish, candidates=[candidate], hold_until=None, now=now,
                operator_tenant=operator_tenant,
            )
            for owner, candidate in zip(owners, candidates, strict=True)
        ]  # fmt: skip
