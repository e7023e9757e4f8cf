"""Row locks, each in one order. The global order is: quota < account < node < device < lease < move
(docs/locking.md).

A transaction that needs several kinds takes them from left to right, and rows of one kind by ascending id. Capacity is
taken by bumping the device's version (in SQL), which is a lock of the device.

FOR NO KEY UPDATE, not FOR UPDATE: whoever only refers to the row (a window of usage, at its commit) need not wait. A
resize and a batch of usage that waited for each other were a deadlock (seen); so would be a booking (device, then its
lease's reference to the node) and a heartbeat (node, then device).
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from allocator.models import Device, Lease, Node, Relocation
from plumbing.db import transaction_required
from plumbing.errors import NotFound


@transaction_required
def lock_node(*, node_id: UUID) -> Node:
    """Raises NotFound."""
    node = Node.objects.select_for_update(no_key=True).filter(pk=node_id).first()
    if node is None:
        raise NotFound(f"There is no node {node_id}.")
    return node


@transaction_required
def lock_device(*, device_id: UUID) -> Device:
    """Raises NotFound."""
    locked = Device.objects.select_for_update(of=("self",), no_key=True)
    device = locked.select_related("node").filter(pk=device_id).first()
    if device is None:
        raise NotFound(f"There is no device {device_id}.")
    return device


@transaction_required
def lock_lease(*, lease_id: UUID) -> Lease:
    """Raises NotFound, for a lease that the caller's scope does not show as well."""
    lease = Lease.objects.select_for_update(no_key=True).filter(pk=lease_id).first()
    if lease is None:
        raise NotFound(f"There is no lease {lease_id}.")
    return lease


@transaction_required
def lock_device_of(*, lease_id: UUID) -> Device:
    """The device of a lease, locked before the lease itself. Raises NotFound."""
    device_id = Lease.objects.filter(pk=lease_id).values_list("device_id", flat=True).first()
    if device_id is None:
        raise NotFound(f"There is no lease {lease_id}.")
    return lock_device(device_id=device_id)


@transaction_required
def lock_leases(*, lease_ids: Collection[UUID]) -> list[Lease]:
    """By ascending id. Raises NotFound if one is missing."""
    found = list(Lease.objects.select_for_update(no_key=True).filter(pk__in=lease_ids).order_by("pk"))
    if len(found) != len(set(lease_ids)):
        raise NotFound("There is no such lease.")
    return found


@transaction_required
def lock_move(*, relocation_id: UUID) -> Relocation:
    """After its leases. Raises NotFound."""
    rows = Relocation.objects.select_for_update(of=("self",), no_key=True).select_related("plan")
    move = rows.filter(pk=relocation_id).first()
    if move is None:
        raise NotFound(f"There is no move {relocation_id}.")
    return move
