"""A lease: a slice on a device, from the node's side."""

from __future__ import annotations

from django.db import models

from allocator.models.device import Device
from allocator.models.node import Node
from plumbing.models import TenantRow
from vxpu.states import LEASE_MOVES, Isolation, LeaseState

ALLOWED = LEASE_MOVES
# States in which capacity is taken.
LIVE = tuple(state for state in LeaseState if state not in (LeaseState.GONE, LeaseState.LOST))
# States in which the node was told to run it, as soon as the lease has started.
ON_NODE = (LeaseState.ASSIGNED, LeaseState.PREPARING, LeaseState.READY, LeaseState.SUSPENDED, LeaseState.UNREACHABLE)


class Lease(TenantRow):
    """`token` fences: the node obeys the highest one it has seen. `version` counts changes that the node must see.

    `ends_at` is when the work is to end (a release sets it); `ended_at` is the agent's word or the fencing.
    `offered_at` is when the node was first told; `drain_at` when it was first to be told to stop. `notice_at` is when
    an earlier end than was agreed was announced, and `notice_reason` why. A `pinned` one was
    asked for on that device and no other: it is never moved, and waits for a silent node.
    `wanted` is what was wished beside the size: models, pool, site, kind, isolation, and how many devices together.
    """

    owner = models.UUIDField(db_index=True)
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="leases", db_index=False)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="leases", db_index=False)
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in LeaseState])
    share_permille = models.PositiveIntegerField()
    memory_mib = models.PositiveBigIntegerField()
    whole = models.BooleanField(default=False)
    isolation = models.CharField(max_length=24, choices=[(mode.value, mode.value) for mode in Isolation])
    token = models.BigIntegerField(unique=True)
    fenced_token = models.BigIntegerField(null=True)
    version = models.PositiveIntegerField(default=1)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    hold_until = models.DateTimeField(null=True)
    offered_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    drain_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=64, default="", blank=True)
    pinned = models.BooleanField(default=False, db_default=False)
    notice_at = models.DateTimeField(null=True)
    wanted = models.JSONField(null=True, default=None, blank=True)
    notice_reason = models.CharField(max_length=32, default="", db_default="", blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["ended_at"], condition=models.Q(state="lost"), name="lease_lost_lately"),
            models.Index(
                fields=["node", "state"], condition=~models.Q(state__in=["gone", "lost"]), name="lease_live_of_node"
            ),
            models.Index(
                fields=["device", "hold_until"], condition=models.Q(state="held"), name="lease_holds_of_device"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended_at__isnull=False, state__in=["gone", "lost"])
                | (models.Q(ended_at__isnull=True) & ~models.Q(state__in=["gone", "lost"])),
                name="lease_end_is_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="held") | models.Q(hold_until__isnull=False), name="lease_hold_has_an_end"
            ),
            models.CheckConstraint(
                condition=~models.Q(state="ready") | models.Q(ready_at__isnull=False), name="lease_ready_has_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"lease {self.id} {self.state}"


class LeaseEvent(TenantRow):
    """One row a transition (`from_state` != `to_state`), or a finding of the agent's audit (equal states)."""

    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="events")
    from_state = models.CharField(max_length=16, default="", blank=True)
    to_state = models.CharField(max_length=16)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=400, default="", blank=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.from_state} -> {self.to_state}"


class LeaseOutage(TenantRow):
    """A silence of the node. Not delivered: from the later of the last counted window within authority, to recovery."""

    tenant_id = models.UUIDField()
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="outages")
    silent_since = models.DateTimeField()
    authority_until = models.DateTimeField()
    recovered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lease"], condition=models.Q(recovered_at__isnull=True), name="lease_outage_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"outage of {self.lease_id}"
