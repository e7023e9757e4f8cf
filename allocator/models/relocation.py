"""Moves of running leases, one by one or as a plan."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from allocator.models.device import Device
from allocator.models.lease import Lease
from allocator.models.node import Node
from plumbing.models import TenantRow


class MovePlanKind(models.TextChoices):
    """`room` for a wish that was refused, `drain` of a node, `consolidation` in quiet hours, `single` by hand."""

    ROOM = "room"
    DRAIN = "drain"
    CONSOLIDATION = "consolidation"
    SINGLE = "single"


class MovePlanState(models.TextChoices):
    """`cleared`: every move is done and the room is held; `done`: whoever it was for has it."""

    RUNNING = "running"
    CLEARED = "cleared"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class RelocationState(models.TextChoices):
    """Up to `switched` it can be cancelled, and the old lease has never stopped."""

    PLANNED = "planned"
    PREPARING = "preparing"
    READY = "ready"
    HOOKING = "hooking"
    SWITCHED = "switched"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


P, S = MovePlanState, RelocationState

# The same tables as the triggers of migration 0010 (a test compares them).
PLAN_ALLOWED: dict[str, frozenset[str]] = {
    P.RUNNING: frozenset({P.CLEARED, P.DONE, P.CANCELLED, P.FAILED}),
    P.CLEARED: frozenset({P.DONE, P.CANCELLED, P.FAILED}),
    P.DONE: frozenset(),
    P.CANCELLED: frozenset(),
    P.FAILED: frozenset(),
}
ALLOWED: dict[str, frozenset[str]] = {
    S.PLANNED: frozenset({S.PREPARING, S.CANCELLED, S.FAILED}),
    S.PREPARING: frozenset({S.READY, S.CANCELLED, S.FAILED}),
    S.READY: frozenset({S.HOOKING, S.CANCELLED, S.FAILED}),
    S.HOOKING: frozenset({S.SWITCHED, S.CANCELLED, S.FAILED}),
    S.SWITCHED: frozenset({S.DONE}),
    S.DONE: frozenset(),
    S.CANCELLED: frozenset(),
    S.FAILED: frozenset(),
}
# Nothing is decided yet: the old lease runs, and no other move may touch it.
OPEN = (S.PLANNED, S.PREPARING, S.READY, S.HOOKING)
# A second lease is booked beside the old one.
DOUBLED = (S.PREPARING, S.READY, S.HOOKING)
PLAN_OPEN = (P.RUNNING, P.CLEARED)


class MovePlan(TenantRow):
    """Moves in order: each prefix of them is legal and leaves nobody worse off. The operator's row.

    `owners` are whom the room is made for (kind `room`), a lease each, and `wish` what one of them takes; `node` is
    what is to be emptied. At most `at_once` moves are under way at a time. What is held for it lapses at `hold_until`.
    """

    kind = models.CharField(max_length=16, choices=MovePlanKind)
    state = models.CharField(max_length=16, choices=MovePlanState, default=MovePlanState.RUNNING)
    version = models.PositiveIntegerField(default=1)
    reason = models.CharField(max_length=200)
    started_by = models.CharField(max_length=80)
    at_once = models.PositiveSmallIntegerField(default=1)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="move_plans")
    owners = models.JSONField(default=list)
    wish = models.JSONField(null=True)
    hold_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=400, default="", blank=True)

    class Meta:
        indexes = [models.Index(fields=["-created_at"], name="move_plan_newest")]
        constraints = [
            models.UniqueConstraint(
                fields=["node"], condition=Q(state__in=[P.RUNNING, P.CLEARED]), name="move_plan_one_per_node"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=False, state__in=[P.DONE, P.CANCELLED, P.FAILED])
                | (Q(ended_at__isnull=True) & Q(state__in=[P.RUNNING, P.CLEARED])),
                name="move_plan_end_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class Relocation(TenantRow):
    """One move of `lease` to `to_device`, where `successor` is made ready beside it; the row of the lease's tenant.

    The successor is delivered time from `switched_at` on, a whole second, and the old lease until then: one of the two
    is charged, never both. Without a switch the successor is nobody's time. `hook_result` is the agent's word (ok,
    failed, timeout, none), or `silent` where nobody was there to ask. `cost_mib` is the state that is moved.
    """

    plan = models.ForeignKey(MovePlan, on_delete=models.PROTECT, related_name="moves")
    position = models.PositiveIntegerField()
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="moves")
    successor = models.OneToOneField(Lease, on_delete=models.PROTECT, null=True, related_name="moved_by")
    from_device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="moves_away")
    to_device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="moves_here")
    state = models.CharField(max_length=16, choices=RelocationState, default=RelocationState.PLANNED)
    version = models.PositiveIntegerField(default=1)
    cost_mib = models.PositiveBigIntegerField()
    changed_at = models.DateTimeField()
    hook_deadline = models.DateTimeField(null=True)
    hook_result = models.CharField(max_length=16, default="", blank=True)
    hook_detail = models.CharField(max_length=400, default="", blank=True)
    switched_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=400, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plan", "position"], name="relocation_in_order"),
            # Two plans that want one lease: one of them wins.
            models.UniqueConstraint(
                fields=["lease"],
                condition=Q(state__in=[S.PLANNED, S.PREPARING, S.READY, S.HOOKING]),
                name="relocation_one_open_per_lease",
            ),
            models.CheckConstraint(
                condition=Q(switched_at__isnull=False, successor__isnull=False, state__in=[S.SWITCHED, S.DONE])
                | (Q(switched_at__isnull=True) & ~Q(state__in=[S.SWITCHED, S.DONE])),
                name="relocation_switch_is_known",
            ),
            models.CheckConstraint(
                condition=Q(successor__isnull=False) | ~Q(state__in=[S.PREPARING, S.READY, S.HOOKING]),
                name="relocation_doubled_has_a_successor",
            ),
        ]

    def __str__(self) -> str:
        return f"move of {self.lease_id} {self.state}"


class MoveHold(TenantRow):
    """A held lease that keeps room for a plan: first the pieces as they come free, in the end what was wished."""

    plan = models.ForeignKey(MovePlan, on_delete=models.PROTECT, related_name="holds")
    lease = models.OneToOneField(Lease, on_delete=models.PROTECT, related_name="kept_for")
    is_final = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.lease_id} kept for {self.plan_id}"
