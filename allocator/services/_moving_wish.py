"""What a running lease would ask for again."""

from __future__ import annotations

from datetime import datetime

from allocator.models import Lease, Segment
from vxpu.market import Wish
from vxpu.slices import Period, Slice
from vxpu.states import Isolation


def wish_of(lease: Lease, *, now: datetime, last: Segment | None = None) -> Wish:
    """From now to its end: its size, host parts and all, on a device of the same kind and model, in the same pool and
    site, kept apart at least as well as now. `last` is its last piece, if it was read already."""
    last = last or Segment.objects.filter(lease=lease, live=True).order_by("period").last()
    pool, site = lease.node.pool, lease.node.site
    return Wish(
        slice=Slice(memory_mib=lease.memory_mib, share_permille=lease.share_permille),
        period=Period(starts_at=now, ends_at=lease.ends_at),
        device_kind=lease.device.kind,
        isolation_at_least=Isolation.EXCLUSIVE if lease.whole else Isolation(lease.isolation),
        models=(lease.device.model,),
        pool=None if pool is None else pool.name,
        site=None if site is None else site.name,
        cores_milli=0 if last is None else last.cores_milli,
        host_mib=0 if last is None else last.host_mib,
        copy_permille=0 if last is None or lease.whole else last.copy_permille,
    )
