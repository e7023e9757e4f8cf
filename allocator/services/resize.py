"""Change a lease's size or end while it runs. The database refuses what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError
from psycopg.types.range import TimestamptzRange

from allocator.engine.draft import Draft
from allocator.engine.fit import change_refusal
from allocator.engine.fleet import Ask
from allocator.errors import DoesNotFit, IllegalPeriod, LeaseLost
from allocator.events import LeaseResized
from allocator.locks import lock_device_of, lock_lease
from allocator.models import Device, Lease, Segment
from allocator.selectors.leases import get_lease
from allocator.services._dirty import mark_dirty
from allocator.services._end import desired_changed
from allocator.services._move import change, note
from allocator.services._moving import refuse_while_moving
from allocator.services._no_room import no_room
from allocator.services._snapshot import read_fleet, to_instant
from allocator.services.line import keep_clear
from plumbing import db, outbox
from plumbing.db import transaction_required
from plumbing.errors import Invalid
from vxpu.ids import new_uuid
from vxpu.market import KeptRoom
from vxpu.slices import Slice
from vxpu.states import LeaseState

RESIZABLE = (LeaseState.HELD, LeaseState.ASSIGNED, LeaseState.PREPARING, LeaseState.READY, LeaseState.SUSPENDED)
SECOND = timedelta(seconds=1)
FENCES = (
    "segment_fits_device", "segment_fits_link", "segment_fits_host", "segment_slot_once", "segment_one_mode",
    "segment_before_maintenance", "segment_shared_on_a_cut_card",
)  # fmt: skip


@transaction_required
def resize(*, lease_id: UUID, slice: Slice, now: datetime) -> Lease:  # noqa: A002 - the product's word
    """A new size from the next whole second, or from the start if that is to come: charges stay in whole seconds.

    Raises DoesNotFit with alternatives, LeaseLost for a lease that is ending, IllegalPeriod too close to the end.
    """
    device = lock_device_of(lease_id=lease_id)
    lease = _lock_changeable(lease_id)
    if not lease.whole and (lease.memory_mib, lease.share_permille) == (slice.memory_mib, slice.share_permille):
        return lease
    at, ask = resize_ask(lease, slice, now=now)
    if device.node.settling_since is not None and _grows(lease, slice):
        raise DoesNotFit("The node is ending what was given up first.", constraints={"settling": 1}, alternatives=[])
    _fitting(lambda: _new_size(lease, device, slice, at, now), lease, device, ask, now)
    change(lease=lease, memory_mib=slice.memory_mib, share_permille=slice.share_permille)
    note(lease=lease, from_state=lease.state, actor="marketplace", reason=f"resized to {slice}", now=now)
    mark_dirty(leases=[lease], at=at, now=now)
    outbox.publish(LeaseResized(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=at))
    desired_changed(lease)
    return lease


@transaction_required
def set_end(*, lease_id: UUID, ends_at: datetime | None, now: datetime) -> Lease:
    """Extend or shorten; None is open-ended. Raises DoesNotFit, LeaseLost, IllegalPeriod for an end in the past."""
    device = lock_device_of(lease_id=lease_id)
    lease = _lock_changeable(lease_id)
    if ends_at == lease.ends_at:
        return lease
    ask = end_ask(lease, ends_at, now=now)
    _fitting(lambda: _new_end(lease, ends_at), lease, device, ask, now)
    kept = _last_segment(lease)  # a shorter lease may lose a new size that was to come
    change(lease=lease, ends_at=ends_at, memory_mib=kept.mib, share_permille=kept.permille)
    note(lease=lease, from_state=lease.state, actor="marketplace", reason=f"end set to {ends_at}", now=now)
    mark_dirty(leases=[lease], at=now, now=now)
    desired_changed(lease)
    return lease


def check_resize(
    *,
    lease_id: UUID,
    slice: Slice,  # noqa: A002 - the product's word
    now: datetime,
    kept: Sequence[KeptRoom] = (),
) -> datetime:
    """When the new size would begin, on an unlocked snapshot; takes nothing. Raises as `resize` does, and DoesNotFit
    for a growth that is not beside the rooms that are `kept` for others."""
    lease = _changeable(get_lease(lease_id=lease_id))
    at, ask = resize_ask(lease, slice, now=now)
    _check(lease, ask, now=now, kept=kept if _grows(lease, slice) else ())
    return at


def _grows(lease: Lease, piece: Slice) -> bool:
    return piece.memory_mib > lease.memory_mib or piece.share_permille > lease.share_permille


def check_end(*, lease_id: UUID, ends_at: datetime | None, now: datetime, kept: Sequence[KeptRoom] = ()) -> None:
    """Whether another end would fit, on an unlocked snapshot; takes nothing. Raises as `set_end` does, and DoesNotFit
    for time that is added and not beside the rooms that are `kept` for others."""
    lease = _changeable(get_lease(lease_id=lease_id))
    if ends_at == lease.ends_at:
        return
    ask, longer_from = end_ask(lease, ends_at, now=now), None if lease.ends_at is None else to_instant(lease.ends_at)
    _check(lease, ask, now=now, longer_from=longer_from)
    if kept and longer_from is not None and longer_from < ask.ends:
        _check(lease, replace(ask, starts=longer_from), now=now, kept=kept)


def _check(
    lease: Lease, ask: Ask, *, now: datetime, longer_from: int | None = None, kept: Sequence[KeptRoom] = ()
) -> None:
    draft = _without(lease, lease.device, now=now, kept=kept)
    if any(change_refusal(card, ask, longer_from=longer_from) for card in draft.fleet().cards):
        raise no_room(draft=draft, ask=ask)


def resize_ask(lease: Lease, piece: Slice, *, now: datetime) -> tuple[datetime, Ask]:
    """When the new size begins, and what it asks of the device. Raises Invalid, IllegalPeriod, LeaseLost."""
    if lease.whole:
        raise Invalid("A whole-device lease has one size.", suggestion="Release it and reserve a slice.")
    at = max(lease.starts_at, now.replace(microsecond=0) + SECOND)
    if lease.ends_at is not None and at >= lease.ends_at:
        raise IllegalPeriod("The lease ends before the new size would begin.")
    last = _last_segment(lease)
    if last.slots is not None:
        raise Invalid("A part that the card itself has cut has one size.", suggestion="Release it and reserve another.")
    ask = Ask(
        permille=piece.share_permille, mib=piece.memory_mib, starts=to_instant(at), ends=to_instant(lease.ends_at),
        copy_permille=last.copy_permille, cores_milli=last.cores_milli, host_mib=last.host_mib,
    )  # fmt: skip
    return at, ask


def end_ask(lease: Lease, ends_at: datetime | None, *, now: datetime) -> Ask:
    """What another end asks of the device. Raises IllegalPeriod, LeaseLost."""
    if ends_at is not None and ends_at <= max(now, lease.starts_at):
        raise IllegalPeriod("The end must be later than now and than the start.", suggestion="To end now, release.")
    last = _last_segment(lease)
    starts = max(to_instant(lease.starts_at), to_instant(now))
    return Ask(
        permille=last.permille, mib=last.mib, starts=starts, ends=to_instant(ends_at), whole=lease.whole,
        copy_permille=last.copy_permille, cores_milli=last.cores_milli, host_mib=last.host_mib,
    )  # fmt: skip


def _lock_changeable(lease_id: UUID) -> Lease:
    return _changeable(lock_lease(lease_id=lease_id))


def _changeable(lease: Lease) -> Lease:
    if lease.state not in RESIZABLE:
        raise LeaseLost(f"Lease {lease.pk} is {lease.state}.", suggestion="Wait until it is ready, or reserve anew.")
    refuse_while_moving(lease)
    return lease


def _segments(lease: Lease) -> list[Segment]:
    return sorted(Segment.objects.filter(lease=lease, live=True), key=lambda segment: segment.period.lower)


def _last_segment(lease: Lease) -> Segment:
    """Raises LeaseLost: a lease that was read without a lock may have been given up meanwhile."""
    segments = _segments(lease)
    if not segments:
        raise LeaseLost(f"Lease {lease.pk} has ended.", suggestion="Wait until it is ready, or reserve anew.")
    return segments[-1]


def _new_size(lease: Lease, device: Device, piece: Slice, at: datetime, now: datetime) -> None:
    """Cut the running segment at `at` and begin a new one; one that begins at `at` already changes in place."""
    last = _last_segment(lease)
    if last.period.lower >= at:
        last.permille, last.mib = piece.share_permille, piece.memory_mib
        last.save(update_fields=["permille", "mib"])
        return
    upper = last.period.upper
    last.period = TimestamptzRange(last.period.lower, at)
    last.save(update_fields=["period"])
    Segment.objects.create(
        id=new_uuid(),
        tenant_id=lease.tenant_id,
        created_at=now,
        lease=lease,
        device=device,
        permille=piece.share_permille,
        mib=piece.memory_mib,
        device_mib=device.capacity_mib,
        period=TimestamptzRange(at, upper),
        mode_class=last.mode_class,
        copy_permille=last.copy_permille,
        cores_milli=last.cores_milli,
        host_mib=last.host_mib,
        slots=last.slots,
    )


def _new_end(lease: Lease, ends_at: datetime | None) -> None:
    pieces = _segments(lease)
    while ends_at is not None and pieces[-1].period.lower >= ends_at:  # a resize that will not come
        pieces[-1].live = False
        pieces.pop().save(update_fields=["live"])
    pieces[-1].period = TimestamptzRange(pieces[-1].period.lower, ends_at)
    pieces[-1].save(update_fields=["period"])


def _fitting(write: Callable[[], None], lease: Lease, device: Device, ask: Ask, now: datetime) -> None:
    """Let the database's fence judge the write; its refusal becomes DoesNotFit."""
    try:
        with db.savepoint():
            write()
    except IntegrityError as error:
        constraint = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
        if constraint not in FENCES:
            raise
        raise _refusal(lease, device, ask, now) from error


def _refusal(lease: Lease, device: Device, ask: Ask, now: datetime) -> DoesNotFit:
    return no_room(draft=_without(lease, device, now=now), ask=ask)


def _without(lease: Lease, device: Device, *, now: datetime, kept: Sequence[KeptRoom] = ()) -> Draft:
    """The device as if the lease were not there: what it has is its own to change. With rooms kept for others."""
    draft = Draft.of(read_fleet(from_at=now, now=now, device_id=device.pk))
    draft.remove(lease.pk)
    keep_clear(draft, kept)
    return draft
