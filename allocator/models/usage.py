"""Facts of use, as the agents measured them."""

from __future__ import annotations

from django.db import models

from allocator.models.lease import Lease
from plumbing.models import TenantRow
from vxpu.states import LeaseState


class UsageWindow(models.Model):
    """One lease, one window of the agent's grid. The row is its own de-duplication: there is no TTL.

    Partitioned by day of `window_start` (raw SQL in the migration), so Django does not manage the table.
    """

    pk = models.CompositePrimaryKey("lease_id", "window_start")
    lease_id = models.UUIDField()
    window_start = models.DateTimeField()
    tenant_id = models.UUIDField()
    node_id = models.UUIDField()
    window_s = models.IntegerField()
    token = models.BigIntegerField()
    granted_permille_s = models.BigIntegerField()
    used_permille_s = models.BigIntegerField(null=True)
    granted_mib_s = models.BigIntegerField()
    peak_mib = models.BigIntegerField(null=True)
    energy_mj = models.BigIntegerField(null=True)
    throttled_ms = models.BigIntegerField(null=True)
    copied_bytes = models.BigIntegerField(null=True)
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in LeaseState])
    contended = models.BooleanField()
    seq = models.BigIntegerField()
    prev_hash = models.CharField(max_length=64)
    clock_offset_ms = models.BigIntegerField()
    mono_ns = models.BigIntegerField()
    payload_digest = models.BinaryField(max_length=32)
    received_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "allocator_usagewindow"

    def __str__(self) -> str:
        return f"{self.lease_id} {self.window_start}"


class UsageVerdict(models.TextChoices):
    CONFLICT = "conflict"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


class ReviewState(models.TextChoices):
    PENDING = "pending"
    RELEASED = "released"
    DISMISSED = "dismissed"


ALLOWED: dict[str, frozenset[str]] = {
    ReviewState.PENDING: frozenset({ReviewState.RELEASED, ReviewState.DISMISSED}),
    ReviewState.RELEASED: frozenset(),
    ReviewState.DISMISSED: frozenset(),
}


class QuarantinedUsage(TenantRow):
    """An event that was not counted: as sent, why, and what became of it. The same event is kept once.

    `lease` is empty when the event names none that this node has; then the row is the operator's.
    """

    node_id = models.UUIDField()
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, null=True, related_name="quarantined")
    payload_digest = models.BinaryField(max_length=32)
    event = models.JSONField()
    verdict = models.CharField(max_length=16, choices=UsageVerdict.choices)
    reason = models.CharField(max_length=200)
    state = models.CharField(max_length=16, choices=ReviewState.choices, default=ReviewState.PENDING)
    received_at = models.DateTimeField()
    reviewed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node_id", "payload_digest"], name="quarantined_once"),
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


class UsageCursor(TenantRow):
    """Per lease: the next sequence number that is due, and the end of the newest counted window."""

    lease = models.OneToOneField(Lease, on_delete=models.PROTECT, related_name="usage_cursor")
    next_seq = models.BigIntegerField(default=0)
    counted_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.lease_id} next {self.next_seq}"


class UsageGap(TenantRow):
    """Sequence numbers [first_seq, last_seq] of a lease that never came. A late arrival closes or splits it."""

    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="usage_gaps")
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(last_seq__gte=models.F("first_seq")), name="usage_gap_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.lease_id} {self.first_seq}..{self.last_seq}"


class DirtyHour(TenantRow):
    """A rating bucket to compute again. Taken with SKIP LOCKED and deleted; marking it again locks or remakes it."""

    tenant_id = models.UUIDField()
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="dirty_hours", db_index=False)
    owner = models.UUIDField()
    starts_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lease", "starts_at"], name="dirty_hour_once")]

    def __str__(self) -> str:
        return f"{self.lease_id} {self.starts_at}"
