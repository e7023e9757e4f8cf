"""Room for a wish that was refused: few moves of running leases, planned on a snapshot, shown, and begun.

What is free already of the place to come is held from the beginning, what comes free is held from that moment, and in
the end the whole of it: nobody else can take it meanwhile (`_keep`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, Card
from allocator.engine.make_room import Limit, Move, MoveCost, RoomPlan, fragmented
from allocator.engine.make_room import make_room as search_room
from allocator.errors import NothingToMove
from allocator.locks import lock_device
from allocator.models import Lease, MovePlan, Pool
from allocator.models.relocation import PLAN_OPEN, MovePlanKind, MovePlanState
from allocator.services import _keep, _kept, move_plans
from allocator.services._movable import overdone, read_movable
from allocator.services._no_room import no_room
from allocator.services._picture import PICTURE, Seen
from allocator.services._policies import PoolRule, parts_of
from allocator.services._snapshot import ask_of
from allocator.services.quiet import is_quiet
from plumbing import db
from plumbing.db import transaction_required
from vxpu.market import Wish
from vxpu.slices import Slice

TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePreview:
    """One move of a plan that is not begun: whose lease, from where to where, and the state that it carries."""

    lease_id: UUID
    owner: UUID
    tenant_id: UUID
    from_device: UUID
    to_device: UUID
    cost_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPreview:
    """`devices` are where the wish would be. Without moves there is no plan, and `reason` says why."""

    moves: tuple[MovePreview, ...]
    devices: tuple[UUID, ...]
    reason: str

    @property
    def cost_mib(self) -> int:
        return sum(move.cost_mib for move in self.moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drafted:
    """`cards` are the devices of the plan's place as they were."""

    ask: Ask
    plan: RoomPlan | None = None
    cards: tuple[Card, ...] = ()
    costs: Mapping[UUID, MoveCost] = field(default_factory=dict)
    reason: str = ""


def preview(*, wish: Wish, count: int, moves: int | None, now: datetime) -> RoomPreview:
    """What would be moved to make room for `count` such leases on one node; nothing is. `moves` None: as many as each
    pool lets."""
    drafted = _search(wish=wish, count=count, moves=moves, now=now)
    if drafted.plan is None:
        return RoomPreview(moves=(), devices=(), reason=drafted.reason)
    return RoomPreview(moves=_previews(drafted), devices=drafted.plan.devices, reason="")


@db.transaction
def start(*, wish: Wish, owners: Sequence[UUID], tenant_id: UUID, moves: int | None, actor: str, now: datetime) -> UUID:
    """Begin a plan for these owners, a lease each, together on one node; its id. Raises NothingToMove with the reason.

    All leave one node for others, so no move waits for another. Idempotent for an owner who has a plan: that one's id.
    """
    known = find_plan(owner=owners[0])
    if known is not None:
        return known.pk
    if moves is None and settings.VXPU_ROOM_QUIET_ONLY and not is_quiet(now):
        raise NothingToMove("Leases are moved in quiet hours only.", suggestion="The wish waits until then.")
    drafted = _search(wish=wish, count=len(owners), moves=moves, now=now)
    if drafted.plan is None:
        raise NothingToMove(drafted.reason, suggestion="Wait, or take another size.")
    plan = move_plans.begin(
        kind=MovePlanKind.ROOM, reason="room for a wish that waits", actor=actor, now=now,
        steps=[move_plans.Step(lease_id=move.lease_id, to_device=move.target[0]) for move in drafted.plan.moves],
        owners=[str(one) for one in owners], hold_until=_kept.hold_until(now),
        wish=_wish_json(wish, drafted, tenant_id=tenant_id), at_once=len(drafted.plan.moves),
    )  # fmt: skip
    _hold_what_is_free(plan, drafted, now)
    return plan.pk


@transaction_required
def end(*, plan_id: UUID, is_taken: bool, reason: str, now: datetime) -> None:
    """The shop has taken what was held, or wants it no more. Idempotent."""
    to = MovePlanState.DONE if is_taken else MovePlanState.CANCELLED
    move_plans.stop_plan(plan_id=plan_id, to=to, reason=reason, actor="marketplace", now=now)


def is_made_anywhere() -> bool:
    """Whether any pool lets leases be moved for who waits."""
    return bool(settings.VXPU_ROOM_MOVES) or Pool.objects.filter(room_moves__gt=0).exists()


def find_plan(*, owner: UUID) -> MovePlan | None:
    """The open plan that makes room for this owner."""
    return MovePlan.objects.filter(state__in=PLAN_OPEN, owners__contains=[str(owner)]).first()


def _search(*, wish: Wish, count: int, moves: int | None, now: datetime) -> _Drafted:
    """Tenants whom a plan would disturb too often are left out, and it is searched again."""
    ask = replace(ask_of(wish), devices=count, cores_milli=wish.cores_milli * count, host_mib=wish.host_mib * count)
    spared: set[UUID] = set()
    with PICTURE.look(now=now) as seen:
        parts = [
            (part, rule, allowed)
            for part, rule in parts_of(seen.draft, ask, wish, seen.rules)
            if (allowed := rule.most_moves() if moves is None else moves)
        ]
        for _ in range(TRIES if parts else 0):
            costs = read_movable(now=now, spared=spared)
            plan = _first_plan(seen, parts, wish, costs)
            moved = () if plan is None else plan.moves
            more = overdone(lease_ids=[one.lease_id for one in moved], costs=costs, now=now)
            if plan is not None and not more:
                cards = tuple(seen.draft.card(device_id) for device_id in plan.devices)
                return _Drafted(ask=ask, plan=plan, cards=cards, costs=costs)
            if not more:
                break
            spared |= more
        return _Drafted(ask=ask, reason=_why(seen.draft, ask))


def _first_plan(
    seen: Seen, parts: Sequence[tuple[Ask, PoolRule, int]], wish: Wish, costs: Mapping[UUID, MoveCost]
) -> RoomPlan | None:
    """Of the first pool that has one. The part of the wish in each pool, with its rule and the moves that it lets."""
    for part, rule, moves in parts:
        limit = Limit(moves=moves, moves_for_one=min(moves, 2), per_owner=rule.most_a_day())
        policy = rule.policy_for(wish.policy)
        plan = search_room(seen.draft, part, policy=policy, limit=limit, movable=costs)
        if plan is not None:
            return plan
    return None


def _why(draft: Draft, ask: Ask) -> str:
    return str(fragmented(draft.view(ask.starts, ask.ends), ask) or no_room(draft=draft, ask=ask).detail)


def _previews(drafted: _Drafted) -> tuple[MovePreview, ...]:
    moves: tuple[Move, ...] = () if drafted.plan is None else drafted.plan.moves
    leases = Lease.objects.in_bulk([move.lease_id for move in moves])
    return tuple(
        MovePreview(
            lease_id=move.lease_id, owner=leases[move.lease_id].owner, tenant_id=leases[move.lease_id].tenant_id,
            from_device=move.source[0], to_device=move.target[0], cost_mib=drafted.costs[move.lease_id].state_mib,
        )
        for move in moves
    )  # fmt: skip


def _wish_json(wish: Wish, drafted: _Drafted, *, tenant_id: UUID) -> dict[str, Any]:
    ends_at = wish.period.ends_at
    seconds = None if ends_at is None else int((ends_at - wish.period.starts_at).total_seconds())
    return {
        "tenant_id": str(tenant_id), "memory_mib": wish.slice.memory_mib, "share_permille": wish.slice.share_permille,
        "whole": drafted.ask.whole, "copy_permille": drafted.ask.copy_permille, "cores_milli": wish.cores_milli,
        "host_mib": wish.host_mib, "seconds": seconds,
        "devices": sorted(str(one) for one in (drafted.plan.devices if drafted.plan else ())),
    }  # fmt: skip


@transaction_required
def _hold_what_is_free(plan: MovePlan, drafted: _Drafted, now: datetime) -> None:
    """On each device of the place to come: the part of the wish that no move has to free. Raises NothingToMove."""
    cards = {card.device_id: card for card in drafted.cards}
    leaving = {move.lease_id for move in (drafted.plan.moves if drafted.plan else ())}
    for device_id in sorted(UUID(one) for one in _keep.wish_json(plan)["devices"]):
        device, card, ask = lock_device(device_id=device_id), cards[device_id], drafted.ask
        freed = [piece for piece in card.taken if piece.lease_id in leaving]
        permille = (card.permille if ask.whole else ask.permille) - sum(piece.permille for piece in freed)
        mib = (card.mib if ask.whole else ask.mib) - sum(piece.mib for piece in freed)
        if (permille <= 0 and mib <= 0) or (freed and card.mig is not None):  # a cut card's rest is no part by itself
            continue
        piece = Slice(memory_mib=max(mib, 1), share_permille=max(permille, 1))
        whole = ask.whole and not freed
        if not _keep.hold_piece(plan=plan, device=device, piece=piece, whole=whole, now=now):
            raise NothingToMove("Somebody else took the room just now.", suggestion="Try again.")
