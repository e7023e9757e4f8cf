"""The move of one running lease, a step at a time: new slice ready, hook, switch, old slice released.

Each step is one transaction, guarded by the state that it starts from, so it may be repeated, and whoever comes after a
crash goes on at the step that was not committed. Up to the switch the old lease works and is paid for; the switch is
the shop's (`marketplace.services.relocate`), in one transaction with the reservation's new place.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator.errors import CannotMove, DoesNotFit, MoveChanged
from allocator.events import MoveEnded, MoveReady
from allocator.locks import lock_leases, lock_move
from allocator.models import Lease, Relocation
from allocator.models.relocation import OPEN, RelocationState
from allocator.services import place
from allocator.services import release as releasing
from allocator.services._dirty import mark_dirty
from allocator.services._elsewhere import breaks_gang
from allocator.services._end import desired_changed, drain
from allocator.services._move import note
from allocator.services._moving import ENDED, GO_ON, change_move, give_up
from allocator.services._moving_wish import wish_of
from plumbing import db, outbox
from plumbing.db import transaction_required
from vxpu.market import Candidate
from vxpu.states import LeaseState

S = RelocationState
ACTOR = "allocator"
RUNNING = (LeaseState.READY, LeaseState.UNREACHABLE)
COMING = (LeaseState.ASSIGNED, LeaseState.PREPARING)


def advance(*, relocation_id: UUID, now: datetime) -> bool:
    """Take the next step if its time has come; whether one was taken. A step that is not possible ends the move."""
    move = Relocation.objects.get(pk=relocation_id)
    step = _STEPS.get(RelocationState(move.state))
    if step is None:
        return False
    try:
        return step(relocation_id, now)
    except CannotMove as error:
        return _fail(relocation_id=relocation_id, reason=error.detail, now=now)
    except MoveChanged:  # somebody else took the step
        return False


@db.transaction
def _prepare(relocation_id: UUID, now: datetime) -> bool:
    """PLANNED -> PREPARING: the same size booked and assigned on the new device, for the same owner."""
    seen = Relocation.objects.select_related("lease__node__site", "to_device__node__site").get(pk=relocation_id)
    target = seen.to_device
    if target.node.cordoned_at is not None:
        raise CannotMove("the new device's node is cordoned")
    if breaks_gang(lease=seen.lease, device=target):
        raise CannotMove("it would leave the others of its gang")
    candidate = Candidate(device_id=target.pk, node_id=target.node_id, score=0)
    try:
        successor = place.book(
            tenant_id=seen.lease.tenant_id, owner=seen.lease.owner, wish=wish_of(seen.lease, now=now),
            candidates=[candidate], hold_until=None, now=now, operator_tenant=settings.VXPU_OPERATOR_TENANT,
        )  # fmt: skip
    except DoesNotFit as error:
        raise CannotMove(f"the new place is taken: {error.detail}") from error
    (old,) = lock_leases(lease_ids=[seen.lease_id])
    move = lock_move(relocation_id=relocation_id)
    if old.state != LeaseState.READY or _is_over(old, now):
        raise CannotMove(f"the lease is {old.state}")
    if (old.memory_mib, old.share_permille) != (seen.lease.memory_mib, seen.lease.share_permille):
        raise MoveChanged("It was resized just now.")
    if (successor.memory_mib, successor.share_permille) != (old.memory_mib, old.share_permille):
        raise CannotMove("the new device would cut it another size")
    Lease.objects.filter(pk=successor.pk).update(wanted=old.wanted)
    change_move(move=move, to=S.PREPARING, now=now, successor=successor)
    note(lease=old, from_state=old.state, actor=ACTOR, reason=f"move begun: to device {target.key}", now=now)
    return True


@db.transaction
def _await_ready(relocation_id: UUID, now: datetime) -> bool:
    """PREPARING -> READY: the new slice is there."""
    move, old, found = _lock(relocation_id)
    new = _check_both(old, found, now)
    if new.state == LeaseState.READY:
        change_move(move=move, to=S.READY, now=now)
        return True
    if now - move.changed_at > timedelta(seconds=settings.VXPU_MOVE_PREPARE_S):
        raise CannotMove("the new slice was not ready in time")
    return False


@db.transaction
def _ask_hook(relocation_id: UUID, now: datetime) -> bool:
    """READY -> HOOKING: the node of the old slice is told; nobody is asked on one that is silent or lost."""
    move, old, found = _lock(relocation_id)
    _check_both(old, found, now)
    deadline = now + timedelta(seconds=settings.VXPU_MOVE_HOOK_S)
    if old.state == LeaseState.READY:
        change_move(move=move, to=S.HOOKING, now=now, hook_deadline=deadline)
        note(lease=old, from_state=old.state, actor=ACTOR, reason="move: the new slice is ready, hook asked", now=now)
        desired_changed(old)
        return True
    change_move(move=move, to=S.HOOKING, now=now, hook_deadline=now, hook_result="silent")
    _tell_ready(move, old, now)
    return True


@db.transaction
def _await_hook(relocation_id: UUID, now: datetime) -> bool:
    """Within HOOKING: no answer until the deadline (an old agent, a lost one) is one as well. Then it is the shop's."""
    move, old, found = _lock(relocation_id)
    _check_both(old, found, now)
    if move.state != S.HOOKING or move.hook_result or move.hook_deadline is None:
        return False
    silent = old.state != LeaseState.READY
    # The agent's own word may be on its way: a heartbeat more.
    if not silent and now < move.hook_deadline + timedelta(seconds=settings.VXPU_HEARTBEAT_S):
        return False
    _take_answer(move, old, "silent" if silent else "timeout", "no answer", now)
    return True


@transaction_required
def hook_answered(*, lease: Lease, relocation_id: UUID, result: str, detail: str, now: datetime) -> None:
    """The agent's word. One that comes late, twice, or for another lease changes nothing."""
    lock_leases(lease_ids=[lease.pk])
    move = Relocation.objects.select_for_update(no_key=True).filter(pk=relocation_id, lease=lease).first()
    if move is not None and move.state == S.HOOKING and not move.hook_result:
        _take_answer(move, lease, result, detail, now)


@transaction_required
def _take_answer(move: Relocation, old: Lease, result: str, detail: str, now: datetime) -> None:
    Relocation.objects.filter(pk=move.pk, state=S.HOOKING, hook_result="").update(
        hook_result=result, hook_detail=detail[:400]
    )
    move.hook_result = result
    note(lease=old, from_state=old.state, actor=ACTOR, reason=f"move: hook {result} {detail}".strip(), now=now)
    _tell_ready(move, old, now)


def _tell_ready(move: Relocation, old: Lease, now: datetime) -> None:
    outbox.publish(MoveReady(tenant_id=old.tenant_id, relocation_id=move.pk, owner=old.owner, at=now))


@transaction_required
def switch(*, relocation_id: UUID, now: datetime) -> Relocation:
    """HOOKING -> SWITCHED, at the whole second: from there on the new lease is delivered and the old one is not.

    The caller has locked whoever owns the lease, and moves it in the same transaction. Raises MoveChanged when it is
    not the time (yet, or any more), CannotMove when it cannot be done.
    """
    move, old, found = _lock(relocation_id)
    if move.state != S.HOOKING or not move.hook_result:
        raise MoveChanged(f"The move is {move.state}.")
    if move.hook_result not in GO_ON:
        raise CannotMove(f"the hook {move.hook_result}: {move.hook_detail}")
    new = _check_both(old, found, now)
    at = now.replace(microsecond=0)
    if new.state != LeaseState.READY or at < new.starts_at or at <= old.starts_at:
        raise MoveChanged("The new slice is not ready.")
    change_move(move=move, to=S.SWITCHED, now=now, switched_at=at)
    note(lease=new, from_state=new.state, actor=ACTOR, reason=f"move: took over at {at.isoformat()}", now=now)
    mark_dirty(leases=[old, new], at=at, now=now)
    if old.state == LeaseState.UNREACHABLE:
        releasing.fence(lease_id=old.pk, reason="moved", now=now)
    elif old.state == LeaseState.READY:
        drain(lease=old, actor=ACTOR, reason="moved", now=at)
    return move


@db.transaction
def _finish(relocation_id: UUID, now: datetime) -> bool:
    """SWITCHED -> DONE: the old slice is gone."""
    move, old, _ = _lock(relocation_id)
    if move.state != S.SWITCHED or old.state not in ENDED:
        return False
    change_move(move=move, to=S.DONE, now=now, ended_at=now)
    outbox.publish(MoveEnded(tenant_id=old.tenant_id, relocation_id=move.pk, owner=old.owner, state="done", at=now))
    return True


@db.transaction
def cancel(*, relocation_id: UUID, reason: str, actor: str, now: datetime) -> bool:
    """Up to the switch: the new slice is given back, the old one has not stopped. False for one that is decided."""
    return cancel_move(relocation_id=relocation_id, reason=reason, actor=actor, now=now)


@transaction_required
def cancel_move(*, relocation_id: UUID, reason: str, actor: str, now: datetime) -> bool:
    """`cancel` within the caller's transaction."""
    move, _, _ = _lock(relocation_id)
    if move.state not in OPEN:
        return False
    give_up(move=move, to=S.CANCELLED, reason=reason, actor=actor, now=now)
    return True


@db.transaction
def _fail(*, relocation_id: UUID, reason: str, now: datetime) -> bool:
    move, _, _ = _lock(relocation_id)
    if move.state not in OPEN:
        return False
    give_up(move=move, to=S.FAILED, reason=reason, actor=ACTOR, now=now)
    return True


@transaction_required
def fail_move(*, relocation_id: UUID, reason: str, now: datetime) -> None:
    """The shop could not switch it. Idempotent."""
    move, _, _ = _lock(relocation_id)
    if move.state in OPEN:
        give_up(move=move, to=S.FAILED, reason=reason, actor="marketplace", now=now)


def _lock(relocation_id: UUID) -> tuple[Relocation, Lease, Lease | None]:
    """The leases, by id, then the move, as they are now."""
    seen = Relocation.objects.filter(pk=relocation_id).values_list("lease_id", "successor_id").get()
    found = {lease.pk: lease for lease in lock_leases(lease_ids=[one for one in seen if one is not None])}
    move = lock_move(relocation_id=relocation_id)
    if move.successor_id not in {None, seen[1]}:
        raise MoveChanged("It was begun just now.")
    return move, found[seen[0]], None if seen[1] is None else found[seen[1]]


def _check_both(old: Lease, new: Lease | None, now: datetime) -> Lease:
    """The new one. Raises CannotMove. An old lease that is silent or lost still may go over: that is a fail-over."""
    if new is None or new.state not in (*COMING, LeaseState.READY):
        raise CannotMove(f"the new slice is {'missing' if new is None else new.state}")
    lost = old.state == LeaseState.LOST
    if not lost and (old.state not in RUNNING or _is_over(old, now)):
        raise CannotMove(f"the lease is {'over' if _is_over(old, now) else old.state}")
    return new


def _is_over(lease: Lease, now: datetime) -> bool:
    return lease.ends_at is not None and lease.ends_at <= now


_STEPS: dict[RelocationState, Callable[[UUID, datetime], bool]] = {
    S.PLANNED: _prepare,
    S.PREPARING: _await_ready,
    S.READY: _ask_hook,
    S.HOOKING: _await_hook,
    S.SWITCHED: _finish,
}
