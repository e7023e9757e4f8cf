"""The one way a move changes state, and its end before the switch: the new lease is given back, the old one runs on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F

from allocator.errors import LeaseMoving, MoveChanged
from allocator.events import MoveEnded
from allocator.models import Lease, Relocation
from allocator.models.relocation import ALLOWED, DOUBLED, OPEN, RelocationState
from allocator.services._end import desired_changed, drain
from allocator.services._move import note
from plumbing import outbox
from plumbing.db import transaction_required
from vxpu.states import LeaseState

S = RelocationState
ENDED = (LeaseState.GONE, LeaseState.LOST)
# The agent's answers to a hook after which the move goes on. A hook that failed stops it: the work would be lost.
GO_ON = frozenset({"ok", "none", "timeout", "silent"})


@transaction_required
def change_move(*, move: Relocation, to: RelocationState, now: datetime, **fields: Any) -> None:
    """Guarded by what was read. Raises MoveChanged."""
    if to not in ALLOWED[move.state]:
        raise MoveChanged(f"A move that is {move.state} cannot become {to}.")
    noted = {"state": to, "changed_at": now, **fields}
    seen = Relocation.objects.filter(pk=move.pk, state=move.state, version=move.version)
    if not seen.update(**noted, version=F("version") + 1):
        raise MoveChanged(f"Move {move.pk} is no longer {move.state}.", suggestion="Read it again.")
    for name, value in noted.items():
        setattr(move, name, value)
    move.version += 1


def find_open(*, lease: Lease) -> Relocation | None:
    """The move of this lease that is not decided yet."""
    return Relocation.objects.filter(lease=lease, state__in=OPEN).first()


def refuse_while_moving(lease: Lease) -> None:
    """Raises LeaseMoving: a second lease of the size as it was is booked; a change would hold for one of the two."""
    if Relocation.objects.filter(lease=lease, state__in=DOUBLED).exists():
        raise LeaseMoving(
            f"Lease {lease.pk} is being moved to another device.",
            suggestion="Try again when the move is over, in a minute or so.",
        )


@transaction_required
def give_up(*, move: Relocation, to: RelocationState, reason: str, actor: str, now: datetime) -> None:
    """CANCELLED or FAILED. `move` and its leases are locked; one that is decided raises MoveChanged."""
    change_move(move=move, to=to, now=now, ended_at=now, end_reason=reason[:400])
    old = Lease.objects.get(pk=move.lease_id)
    if move.successor_id is not None:
        successor = Lease.objects.get(pk=move.successor_id)
        if successor.state not in (*ENDED, LeaseState.DRAINING):
            drain(lease=successor, actor=actor, reason="move_given_up", now=now)
    if old.state not in ENDED:
        note(lease=old, from_state=old.state, actor=actor, reason=f"move {to}: {reason}", now=now)
        desired_changed(old)
    outbox.publish(MoveEnded(tenant_id=old.tenant_id, relocation_id=move.pk, owner=old.owner, state=str(to), at=now))


@transaction_required
def cancel_open(*, lease: Lease, reason: str, actor: str, now: datetime) -> None:
    """The lease (locked) ends by somebody's wish: its move, if there is one, ends with it."""
    seen = Relocation.objects.filter(lease=lease, state__in=OPEN).values_list("pk", "successor_id").first()
    if seen is None:
        return
    if seen[1] is not None:
        Lease.objects.select_for_update(no_key=True).filter(pk=seen[1]).first()
    move = Relocation.objects.select_for_update(no_key=True).get(pk=seen[0])
    if move.state in OPEN:
        give_up(move=move, to=S.CANCELLED, reason=reason, actor=actor, now=now)
