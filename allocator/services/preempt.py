"""Pre-emption from the node's side: who would have to leave, the notice, and taking it back.

A notice is an earlier end of the lease. So the calendar is free from then on, the pre-emptor is booked into it in the
same transaction, and nothing that happens later, a crash least of all, can give the room to anybody else. At its end
the lease drains like every other, and only the agent's word makes it gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from allocator.engine import preempt
from allocator.errors import LeaseLost
from allocator.locks import lock_device, lock_lease
from allocator.models import Lease
from allocator.selectors.leases import view_of
from allocator.services._move import change, note
from allocator.services._snapshot import ask_of, read_fleet, to_instant
from allocator.services.resize import RESIZABLE, set_end
from plumbing.db import transaction_required
from vxpu.eviction import Evictable, EvictionPlan, EvictionRequest, EvictionRules
from vxpu.market import LeaseView

_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = 1_000_000


def find_victims(
    *, request: EvictionRequest, evictable: Iterable[Evictable], rules: EvictionRules, now: datetime
) -> EvictionPlan | None:
    """On an unlocked snapshot. None: nobody's going would help, the wish fits without, or it is too soon."""
    holders = [_holder(one) for one in evictable]
    claim, limits, at = _claim(request), _rules(rules), to_instant(now)
    if not any(preempt.may_evict(claim, one, now=at, rules=limits) for one in holders):
        return None
    fleet = read_fleet(from_at=now, now=now, device_id=request.wish.device_id)
    found = preempt.find_victims(fleet, claim, holders, now=at, rules=limits)
    if found is None:
        return None
    return EvictionPlan(
        node_id=found.node_id, device_ids=found.device_ids, lease_ids=found.victims,
        wasted_permille_s=found.waste // _MICROSECONDS,
    )  # fmt: skip


@transaction_required
def give_notice(*, reasons: Mapping[UUID, str], ends_at: datetime, now: datetime) -> list[LeaseView]:
    """tx. Every lease (with why) ends by `ends_at`, and its agent is told at once. A second notice changes nothing.

    Raises LeaseLost for one that does not run any more: then none is given.
    """
    leases = _lock_all(list(reasons))
    for lease in leases:
        if lease.state not in RESIZABLE:
            raise LeaseLost(f"Lease {lease.pk} is {lease.state}.", suggestion="Look for other victims.")
        if lease.notice_at is None:
            if lease.ends_at is None or ends_at < lease.ends_at:
                lease = set_end(lease_id=lease.pk, ends_at=ends_at, now=now)  # noqa: PLW2901 - as it is now
            reason = reasons[lease.pk]
            change(lease=lease, notice_at=now, notice_reason=reason)
            note(lease=lease, from_state=lease.state, actor="marketplace", reason=f"notice: {reason}", now=now)
    return [view_of(lease) for lease in _lock_all(list(reasons))]


@transaction_required
def withdraw_notice(*, lease_id: UUID, ends_at: datetime | None, now: datetime) -> LeaseView:
    """tx. The lease keeps running, to its old end. Raises LeaseLost when it is too late, DoesNotFit when the room after
    the notice's end was taken by somebody else."""
    (lease,) = _lock_all([lease_id])
    if lease.notice_at is None:
        return view_of(lease)
    if lease.state not in RESIZABLE or (lease.ends_at is not None and lease.ends_at <= now):
        raise LeaseLost(f"Lease {lease.pk} is ending.", suggestion="It is placed again from the queue.")
    lease = set_end(lease_id=lease_id, ends_at=ends_at, now=now)
    change(lease=lease, notice_at=None, notice_reason="")
    note(lease=lease, from_state=lease.state, actor="marketplace", reason="the notice was taken back", now=now)
    return view_of(lease)


@transaction_required
def _lock_all(lease_ids: Sequence[UUID]) -> list[Lease]:
    """Devices before leases, each by id: the order of every booking."""
    devices = Lease.objects.filter(pk__in=lease_ids).values_list("device_id", flat=True)
    for device_id in sorted(set(devices)):
        lock_device(device_id=device_id)
    return [lock_lease(lease_id=lease_id) for lease_id in sorted(lease_ids)]


def _claim(request: EvictionRequest) -> preempt.Claim:
    one = ask_of(request.wish)
    ask = replace(  # the part of the host is each one's own
        one, devices=request.count, cores_milli=request.count * one.cores_milli, host_mib=request.count * one.host_mib
    )
    return preempt.Claim(
        owner=request.owner, rank=request.rank, waiting_since=to_instant(request.waiting_since), ask=ask,
        evictions=request.evictions, pairs=request.pairs, reclaims=request.reclaims,
    )  # fmt: skip


def _holder(one: Evictable) -> preempt.Holder:
    return preempt.Holder(
        lease_id=one.lease_id, owner=one.owner, rank=one.rank, permille=one.permille,
        started_at=to_instant(one.started_at), safe_at=to_instant(one.safe_at), evictions=one.evictions,
    )  # fmt: skip


def _rules(rules: EvictionRules) -> preempt.Rules:
    return preempt.Rules(
        delay=rules.delay // _MICROSECOND, min_run=rules.min_run // _MICROSECOND, promote_after=rules.promote_after,
        promote_wait=rules.promote_wait // _MICROSECOND,
    )  # fmt: skip
