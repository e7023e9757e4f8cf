"""What a node should make true now, and when that will change by the clock alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.conf import settings

from allocator.models import Lease, Node, Relocation, Segment
from allocator.models.lease import ON_NODE
from allocator.models.relocation import MovePlanKind, RelocationState
from allocator.services._snapshot import to_instant
from vxpu.ids import encode
from vxpu.slices import Slice
from vxpu.states import LeaseState
from vxpu.wire.node import Desired, DesiredLease, Hook, Slots

HORIZON = timedelta(seconds=60)
ORDERED = frozenset({*ON_NODE, LeaseState.DRAINING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """`desired` for the node; `told` are the leases in it; `changes_at` is when to send it again (within a minute)."""

    desired: Desired
    told: tuple[UUID, ...]
    changes_at: datetime | None


def read_orders(
    *, node: Node, leases: Iterable[Lease], keys: Mapping[UUID, str], answers_seq: int, now: datetime
) -> Orders:
    """From the node's live leases and the keys of its devices, as the caller has them. A lease is in it from its start
    on, until the agent says that it is gone."""
    leases = [lease for lease in leases if lease.state in ORDERED]
    leases.sort(key=lambda lease: (lease.starts_at, lease.pk))
    segments = _segments_of(leases)
    hooks = _hooks_of(leases)
    due = [lease for lease in leases if lease.starts_at <= now]
    if node.settling_since is not None:
        due = [lease for lease in due if lease.offered_at is not None]  # the others wait: see `_settle`
    desired = Desired(
        answers_seq=answers_seq,
        sent_at=now,
        heartbeat_s=settings.VXPU_HEARTBEAT_S,
        authority_s=settings.VXPU_AUTHORITY_S,
        window_s=settings.VXPU_WINDOW_S,
        grace_s=settings.VXPU_GRACE_S,
        takes_host=True,
        leases=[
            _order(lease, keys[lease.device_id], segments[lease.pk], now, hook=hooks.get(lease.pk)) for lease in due
        ],
    )
    told = tuple(lease.pk for lease in due if lease.offered_at is None)
    return Orders(desired=desired, told=told, changes_at=_next_change(leases, segments, now))


def _segments_of(leases: Sequence[Lease]) -> dict[UUID, list[Segment]]:
    found: dict[UUID, list[Segment]] = defaultdict(list)
    rows = Segment.objects.filter(lease__in=leases, live=True)
    for segment in sorted(rows, key=lambda row: row.period.lower):
        found[segment.lease_id].append(segment)
    return found


def _hooks_of(leases: Sequence[Lease]) -> dict[UUID, Hook]:
    """Whose programs are to save what they have. After the switch it stays: it says why the slice ends."""
    asked = (RelocationState.HOOKING, RelocationState.SWITCHED)
    moves = Relocation.objects.filter(lease__in=leases, state__in=asked, hook_deadline__isnull=False)
    return {
        move.lease_id: Hook(
            id=encode("mov", move.pk), deadline=move.hook_deadline or move.changed_at,
            reason="maintenance" if move.plan.kind == MovePlanKind.DRAIN else "move",
        )
        for move in moves.select_related("plan")
    }  # fmt: skip


def _order(
    lease: Lease, device_key: str, segments: Sequence[Segment], now: datetime, *, hook: Hook | None
) -> DesiredLease:
    begun = [segment for segment in segments if segment.period.lower <= now]
    size = begun[-1] if begun else None
    return DesiredLease(
        lease_id=encode("lse", lease.pk),
        token=lease.token,
        # A new size that begins by the clock is a change that the node must see, without a write of ours.
        version=lease.version + max(len(begun) - 1, 0),
        wanted=_wanted(lease, now),
        device_key=device_key,
        slice=Slice(
            memory_mib=size.mib if size else lease.memory_mib,
            share_permille=size.permille if size else lease.share_permille,
        ),
        starts_at=lease.starts_at,
        ends_at=lease.ends_at,
        hook=hook or _notice_hook(lease),
        slots=None if size is None or size.slots is None else Slots(first=size.slots.lower, end=size.slots.upper),
    )


def _notice_hook(lease: Lease) -> Hook | None:
    """Who is to lose its place to another may save its work until then."""
    if lease.notice_at is None or lease.ends_at is None:
        return None
    return Hook(id=f"notice-{to_instant(lease.notice_at)}", reason="preempt", deadline=lease.ends_at)


def _wanted(lease: Lease, now: datetime) -> Literal["ready", "suspended", "gone"]:
    if lease.state == LeaseState.DRAINING or (lease.ends_at is not None and lease.ends_at <= now):
        return "gone"
    return "suspended" if lease.state == LeaseState.SUSPENDED else "ready"


def _next_change(leases: Sequence[Lease], segments: dict[UUID, list[Segment]], now: datetime) -> datetime | None:
    instants = [lease.starts_at for lease in leases]
    instants += [lease.ends_at for lease in leases if lease.ends_at is not None]
    instants += [segment.period.lower for pieces in segments.values() for segment in pieces]
    coming = [instant for instant in instants if now < instant <= now + HORIZON]
    return min(coming, default=None)
