"""Plans of moves: begun, run a step at a time, called off. Every prefix of a plan leaves a legal fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.db.models import F, Max

from allocator.engine.fit import static_refusal
from allocator.errors import MoveChanged, NothingToMove
from allocator.models import Device, Lease, MovePlan, Relocation
from allocator.models.relocation import (
    DOUBLED,
    OPEN,
    PLAN_ALLOWED,
    PLAN_OPEN,
    MovePlanKind,
    MovePlanState,
    RelocationState,
)
from allocator.selectors.devices import get_device
from allocator.selectors.leases import get_lease
from allocator.selectors.staying import why_it_stays
from allocator.services import _kept, relocate
from allocator.services._elsewhere import breaks_gang
from allocator.services._movable import states_mib
from allocator.services._moving_wish import wish_of
from allocator.services._snapshot import ask_of, read_fleet
from plumbing import db
from plumbing.db import transaction_required
from plumbing.errors import DomainError
from vxpu.states import LeaseState

P, S = MovePlanState, RelocationState
STEPS_A_RUN = 8
# Reasons to stay that stand against an operator's word as well: the fact, and the way on.
HELD_BACK = {
    "pinned": ("Its device was asked for by name.", "Agree with the tenant, who can release it."),
    "together": ("It is one of several that are together on a node.", "Agree with the tenant, who can release them."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A lease, and the device that it is to go to."""

    lease_id: UUID
    to_device: UUID


@transaction_required
def begin(
    *, kind: MovePlanKind, steps: Sequence[Step], reason: str, actor: str, now: datetime, at_once: int = 1, **more: Any
) -> MovePlan:
    """A plan with its moves in order. Raises NothingToMove when another plan was quicker with one of the leases."""
    operator = settings.VXPU_OPERATOR_TENANT
    try:
        with db.savepoint():
            plan = MovePlan.objects.create(
                tenant_id=operator, created_at=now, kind=kind, reason=reason[:200], started_by=actor[:80],
                at_once=at_once, **more,
            )  # fmt: skip
            add_steps(plan=plan, steps=steps, now=now)
    except IntegrityError as error:
        constraint = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
        if constraint not in ("relocation_one_open_per_lease", "move_plan_one_per_node"):
            raise
        raise NothingToMove("Another plan moves one of these leases.", suggestion="Wait until it is done.") from error
    return plan


@transaction_required
def add_steps(*, plan: MovePlan, steps: Sequence[Step], now: datetime) -> None:
    """After those that there are. Raises IntegrityError."""
    last = plan.moves.aggregate(last=Max("position"))["last"] or 0
    leases = Lease.objects.in_bulk([step.lease_id for step in steps])
    costs = states_mib(leases=list(leases.values()), now=now)
    Relocation.objects.bulk_create(
        Relocation(
            tenant_id=leases[step.lease_id].tenant_id, created_at=now, plan=plan, position=last + number,
            lease_id=step.lease_id, from_device_id=leases[step.lease_id].device_id, to_device_id=step.to_device,
            cost_mib=costs[step.lease_id], changed_at=now,
        )
        for number, step in enumerate(steps, start=1)
    )  # fmt: skip


@db.transaction
def move_one(*, lease_id: UUID, device_id: UUID, reason: str, actor: str, now: datetime) -> UUID:
    """One lease to one device, by hand; the plan's id. Raises NotFound, NothingToMove."""
    lease, device = get_lease(lease_id=lease_id), get_device(device_id=device_id)
    if lease.device_id == device.id:
        raise NothingToMove("It is on that device.", suggestion="Name another one.")
    why = why_it_stays(lease=lease, now=now)
    if why in HELD_BACK:
        fact, way_on = HELD_BACK[why]
        raise NothingToMove(fact, suggestion=way_on)
    if lease.state != LeaseState.READY:
        raise NothingToMove(f"The lease is {lease.state}.", suggestion="Only one that runs can be moved.")
    if breaks_gang(lease=lease, device=Device.objects.select_related("node__site").get(pk=device.id)):
        raise NothingToMove("It would leave the others of its gang.", suggestion="Take a device that keeps them near.")
    _check_goes_there(lease, device_id=device.id, now=now)
    step = Step(lease_id=lease.pk, to_device=device.id)
    return begin(kind=MovePlanKind.SINGLE, steps=[step], reason=reason, actor=actor, now=now).pk


def _check_goes_there(lease: Lease, *, device_id: UUID, now: datetime) -> None:
    """By what it is, not by what is on it: that is for the booking to say. Raises NothingToMove."""
    fleet = read_fleet(from_at=now, now=now, device_id=device_id)
    ask = ask_of(wish_of(lease, now=now))
    why = next((static_refusal(card, ask, fleet.machines[0]) for card in fleet.cards), "offline")
    if why is not None:
        raise NothingToMove(
            f"That device is not one for it: {why}.", suggestion="Name one of the same sort, pool and site."
        )


def run_plan(*, plan_id: UUID, now: datetime) -> int:
    """Every move that may go on, as far as it goes now; returns the steps taken."""
    done = 0
    for _ in range(STEPS_A_RUN):
        taken = sum(relocate.advance(relocation_id=one, now=now) for one in _due(plan_id))
        done += taken
        if not taken:
            break
    settle(plan_id=plan_id, now=now)
    return done


def _due(plan_id: UUID) -> list[UUID]:
    """Those under way, and as many that wait as may be."""
    plan = MovePlan.objects.get(pk=plan_id)
    moves = plan.moves.order_by("position")
    under_way = list(moves.filter(state__in=[*DOUBLED, S.SWITCHED]).values_list("pk", flat=True))
    room = max(0, plan.at_once - len(under_way)) if plan.state == P.RUNNING else 0
    return under_way + list(moves.filter(state=S.PLANNED).values_list("pk", flat=True)[:room])


def settle(*, plan_id: UUID, now: datetime) -> None:
    """A plan whose moves are all decided ends; one that makes room ends with the room held, or gives up."""
    plan = MovePlan.objects.get(pk=plan_id)
    if plan.state != P.RUNNING:
        return
    states = set(plan.moves.values_list("state", flat=True))
    if plan.kind == MovePlanKind.ROOM:
        if states & {S.FAILED, S.CANCELLED}:
            stop(plan_id=plan_id, to=P.FAILED, reason="a move of it was not possible", actor="allocator", now=now)
        elif states & {*OPEN, S.SWITCHED}:
            _kept.renew(plan_id=plan_id, now=now)
        else:
            _clear(plan_id=plan_id, now=now)
    elif plan.kind != MovePlanKind.DRAIN and not states & {*OPEN, S.SWITCHED}:
        failed = S.FAILED in states or S.CANCELLED in states
        reason = "not every move was possible" if failed else ""
        stop(plan_id=plan_id, to=P.FAILED if failed else P.DONE, reason=reason, actor="allocator", now=now)


def _clear(*, plan_id: UUID, now: datetime) -> None:
    try:
        _kept.clear(plan_id=plan_id, now=now)
    except MoveChanged:
        return
    except DomainError as error:
        stop(plan_id=plan_id, to=P.FAILED, reason=error.detail, actor="allocator", now=now)


@db.transaction
def stop(*, plan_id: UUID, to: MovePlanState, reason: str, actor: str, now: datetime) -> bool:
    """Cancel what is not switched, give back what is held, end the plan. False for one that has ended.

    What is switched stays where it is: every prefix of a plan is as good as before, or better.
    """
    return stop_plan(plan_id=plan_id, to=to, reason=reason, actor=actor, now=now)


@transaction_required
def stop_plan(*, plan_id: UUID, to: MovePlanState, reason: str, actor: str, now: datetime) -> bool:
    """`stop` within the caller's transaction."""
    open_moves = Relocation.objects.filter(plan_id=plan_id, state__in=OPEN).order_by("lease_id")
    for relocation_id in open_moves.values_list("pk", flat=True):
        relocate.cancel_move(relocation_id=relocation_id, reason=reason or "the plan ended", actor=actor, now=now)
    plan = MovePlan.objects.select_for_update(no_key=True).get(pk=plan_id)
    if plan.state not in PLAN_OPEN:
        return False
    change_plan(plan=plan, to=to, now=now, end_reason=reason[:400], ended_at=now)
    if to != P.DONE:
        _kept.give_back(plan=plan, now=now)
    return True


@transaction_required
def change_plan(*, plan: MovePlan, to: MovePlanState, now: datetime, **fields: Any) -> None:  # noqa: ARG001 - as moves
    """Guarded. Raises MoveChanged."""
    if to not in PLAN_ALLOWED[plan.state]:
        raise MoveChanged(f"A plan that is {plan.state} cannot become {to}.")
    seen = MovePlan.objects.filter(pk=plan.pk, state=plan.state, version=plan.version)
    if not seen.update(state=to, version=F("version") + 1, **fields):
        raise MoveChanged(f"Plan {plan.pk} is no longer {plan.state}.", suggestion="Read it again.")
    plan.state = to
