"""The part of the facade that deals with moves of running leases and with room that is made by them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from allocator.facade.scope import whole_fleet
from allocator.selectors import moves
from allocator.services import make_room, move_plans, relocate, run_moves
from vxpu.market import MoveView, RoomView, Wish


@whole_fleet
def get_move(*, move_id: UUID) -> MoveView:
    """Raises NotFound."""
    return moves.move_view_of(moves.get_move(relocation_id=move_id))


@whole_fleet
def list_moves(*, owners: Iterable[UUID], states: Collection[str] = ()) -> list[MoveView]:
    """Of these owners' leases, oldest first; no states is all."""
    return [moves.move_view_of(move) for move in moves.list_of_owners(owners=owners, states=states)]


@whole_fleet
def list_moves_to_switch() -> list[MoveView]:
    """Those whose new slice is ready and whose hook is answered, oldest first."""
    return [moves.move_view_of(move) for move in moves.list_ready()]


@whole_fleet
def let_moves_go_over(*, now: datetime) -> int:
    """Moves whose old node fell silent and whose new slice is ready wait for nothing but the switch now."""
    return run_moves.go_over(now=now)


@whole_fleet
def switch_move(*, move_id: UUID, now: datetime) -> MoveView:
    """tx. The owner's row is locked, and takes the successor for its lease in this transaction.

    From the whole second `switched_at` on the successor is delivered, until then the old lease, which is released now.
    Raises MoveChanged when it is not the time, CannotMove when it cannot be done.
    """
    relocate.switch(relocation_id=move_id, now=now)
    return moves.move_view_of(moves.get_move(relocation_id=move_id))


@whole_fleet
def is_room_made_anywhere() -> bool:
    """Whether any pool lets leases be moved for who waits."""
    return make_room.is_made_anywhere()


@whole_fleet
def cancel_move(*, move_id: UUID, reason: str, now: datetime) -> bool:
    """tx. Up to the switch; False for one that is decided."""
    return relocate.cancel_move(relocation_id=move_id, reason=reason, actor="marketplace", now=now)


@whole_fleet
def fail_move(*, move_id: UUID, reason: str, now: datetime) -> None:
    """tx. It cannot be switched: the old lease runs on. Idempotent."""
    relocate.fail_move(relocation_id=move_id, reason=reason, now=now)


@whole_fleet
def is_spare(*, lease_id: UUID) -> bool:
    """A lease that was made to take over another's work and has not: nobody's time."""
    return moves.is_spare(lease_id=lease_id)


@whole_fleet
def start_room(*, wish: Wish, owners: Sequence[UUID], tenant_id: UUID, now: datetime) -> UUID:
    """Begin to make room by moves, for a lease of each of these owners on one node; the plan's id.

    Raises NothingToMove with the reason: it is not allowed, or there is no plan of so few moves.
    """
    plan_id = make_room.start(wish=wish, owners=owners, tenant_id=tenant_id, moves=None, actor="marketplace", now=now)
    move_plans.run_plan(plan_id=plan_id, now=now)  # at once: the new places are free now
    return plan_id


@whole_fleet
def list_rooms() -> list[RoomView]:
    """What is being made or waits to be taken, oldest first."""
    return moves.list_rooms()


@whole_fleet
def is_room_made(*, owner: UUID) -> bool:
    """Whether leases are being moved for this owner."""
    return make_room.find_plan(owner=owner) is not None


@whole_fleet
def room_failed_since(*, owner: UUID, since: datetime) -> bool:
    """Whether a plan for this owner ended without giving him room."""
    return moves.room_failed_since(owner=owner, since=since)


@whole_fleet
def end_room(*, plan_id: UUID, is_taken: bool, reason: str, now: datetime) -> None:
    """tx. The owners have confirmed what is held for them, or want it no more: then all of it is given back."""
    make_room.end(plan_id=plan_id, is_taken=is_taken, reason=reason, now=now)
