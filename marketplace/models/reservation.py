"""What a tenant bought: which slice, when, at which price."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from marketplace.matching.queue_order import Urgency
from marketplace.models.gang import Gang
from marketplace.models.offer import Offer
from marketplace.models.price import Price
from plumbing.models import TenantRow


class ReservationState(models.TextChoices):
    QUOTED = "quoted"
    QUEUED = "queued"
    HELD = "held"
    AWAITING_APPROVAL = "awaiting_approval"
    CONFIRMED = "confirmed"
    ACTIVATING = "activating"
    ACTIVE = "active"
    RESIZING = "resizing"
    SUSPENDED = "suspended"
    PREEMPTING = "preempting"
    PREEMPTED = "preempted"
    MOVING = "moving"
    ENDING = "ending"
    COMPLETED = "completed"
    EXPIRED = "expired"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    NO_SHOW = "no_show"
    FAILED = "failed"


S = ReservationState

FIRST_STATES = frozenset({S.QUOTED, S.QUEUED, S.HELD, S.CONFIRMED})

# The database refuses every other move too: the trigger of migration 0002 holds the same pairs (a test compares them).
ALLOWED: dict[ReservationState, frozenset[ReservationState]] = {
    S.QUOTED: frozenset({S.QUEUED, S.HELD, S.CONFIRMED, S.EXPIRED, S.REJECTED, S.CANCELLED}),
    S.QUEUED: frozenset({S.HELD, S.CONFIRMED, S.EXPIRED, S.REJECTED, S.CANCELLED}),
    S.HELD: frozenset({S.AWAITING_APPROVAL, S.CONFIRMED, S.EXPIRED, S.REJECTED, S.CANCELLED}),
    S.AWAITING_APPROVAL: frozenset({S.CONFIRMED, S.EXPIRED, S.REJECTED, S.CANCELLED}),
    S.CONFIRMED: frozenset({S.ACTIVATING, S.RESIZING, S.MOVING, S.CANCELLED, S.NO_SHOW, S.FAILED}),
    S.ACTIVATING: frozenset({S.QUEUED, S.ACTIVE, S.RESIZING, S.MOVING, S.ENDING, S.CANCELLED, S.NO_SHOW, S.FAILED}),
    S.ACTIVE: frozenset({S.RESIZING, S.SUSPENDED, S.PREEMPTING, S.MOVING, S.ENDING, S.FAILED}),
    S.RESIZING: frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE}),
    S.SUSPENDED: frozenset({S.ACTIVE, S.MOVING, S.ENDING, S.FAILED}),
    S.PREEMPTING: frozenset({S.PREEMPTED, S.ACTIVE, S.ENDING, S.FAILED}),
    S.PREEMPTED: frozenset({S.QUEUED, S.CANCELLED}),
    S.MOVING: frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE, S.ENDING, S.FAILED}),
    S.ENDING: frozenset({S.COMPLETED, S.FAILED}),
    S.COMPLETED: frozenset(),
    S.EXPIRED: frozenset(),
    S.REJECTED: frozenset(),
    S.CANCELLED: frozenset(),
    S.NO_SHOW: frozenset(),
    S.FAILED: frozenset(),
}

TAKES_CAPACITY = frozenset(
    {S.HELD, S.AWAITING_APPROVAL, S.CONFIRMED, S.ACTIVATING, S.ACTIVE, S.RESIZING, S.SUSPENDED, S.PREEMPTING, S.MOVING,
     S.ENDING}
)  # fmt: skip
ENDED = frozenset(state for state, nexts in ALLOWED.items() if not nexts)
LIVE = frozenset(ReservationState) - ENDED


class Reservation(TenantRow):
    """`starts_at`..`ends_at` is the booked period, half-open (None is open-ended); it stays as booked after an early
    release (`released_at`), so that the line for time not delivered can be shown. `changed_*` say who made the last
    transition and why: a trigger copies them into a `ReservationEvent`, one row per transition. Every bucket before
    `rated_through` was rated after it was over; `rated_as_of` is the latest "now" that a rating took. Bought with a
    quote (`quote_id`), `agreed_prices` hold for the quoted period, whatever the book says later. `notice_at` and
    `evict_at` are set while it is preempting; `checkpointed_at` is the last one that its tenant told of.
    """

    # Each index is written anew at each step of the life: only what is asked for has one.
    tenant_id = models.UUIDField()
    project_id = models.UUIDField()
    account_id = models.UUIDField()
    requested_by = models.UUIDField()
    state = models.CharField(max_length=20, choices=ReservationState)
    version = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=200, blank=True, default="", db_default="")

    memory_mib = models.BigIntegerField()
    share_permille = models.PositiveSmallIntegerField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=80, blank=True)

    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, null=True, blank=True, db_index=False)
    sku = models.CharField(max_length=64, blank=True)
    device_kind = models.CharField(max_length=32, blank=True)
    wanted_device_id = models.UUIDField(null=True, blank=True)
    isolation_at_least = models.CharField(max_length=32, blank=True)
    policy = models.CharField(max_length=32, blank=True)
    device_models = models.JSONField(default=list, db_default=[], blank=True)
    pool = models.CharField(max_length=64, blank=True, default="", db_default="")
    site = models.CharField(max_length=64, blank=True, default="", db_default="")
    near = models.CharField(max_length=64, blank=True, default="", db_default="")
    cores_milli = models.BigIntegerField(default=0, db_default=0)
    host_mib = models.BigIntegerField(default=0, db_default=0)
    copy_permille = models.PositiveSmallIntegerField(default=0, db_default=0)
    gang = models.ForeignKey(
        Gang, on_delete=models.PROTECT, null=True, blank=True, related_name="reservations", db_index=False
    )
    gang_rank = models.PositiveSmallIntegerField(null=True, blank=True)

    lease_id = models.UUIDField(null=True, blank=True, unique=True)
    device_id = models.UUIDField(null=True, blank=True)
    price = models.ForeignKey(Price, on_delete=models.PROTECT, null=True, blank=True, db_index=False)
    unit_price = models.DecimalField(max_digits=20, decimal_places=10, null=True, blank=True)
    currency = models.CharField(max_length=3)
    quote_id = models.UUIDField(null=True, blank=True, unique=True)
    agreed_prices = models.JSONField(null=True, blank=True)

    preemptible = models.BooleanField(default=False, db_default=False)
    notice_at = models.DateTimeField(null=True, blank=True)
    evict_at = models.DateTimeField(null=True, blank=True)
    checkpointed_at = models.DateTimeField(null=True, blank=True)
    evictions = models.PositiveSmallIntegerField(default=0, db_default=0)

    queued_until = models.DateTimeField(null=True, blank=True)
    waits_for = models.CharField(max_length=40, blank=True)
    estimated_start_at = models.DateTimeField(null=True, blank=True)
    estimated_start_by = models.DateTimeField(null=True, blank=True)
    priority = models.CharField(
        max_length=8, choices=[(one.value, one.value) for one in Urgency], default=Urgency.NORMAL,
        db_default=Urgency.NORMAL.value,
    )  # fmt: skip
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    planned_device_id = models.UUIDField(null=True, blank=True)
    planned_start_at = models.DateTimeField(null=True, blank=True)
    earlier_start_at = models.DateTimeField(null=True, blank=True)
    rated_through = models.DateTimeField(null=True, blank=True)
    rated_as_of = models.DateTimeField(null=True, blank=True)

    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=80)
    change_reason = models.CharField(max_length=400)

    class Meta:
        db_table = "marketplace_reservation"
        constraints: ClassVar = [
            models.CheckConstraint(
                name="reservation_size",
                condition=Q(memory_mib__gte=1) & Q(share_permille__gte=1) & Q(share_permille__lte=1000),
            ),
            models.CheckConstraint(
                name="reservation_in_order", condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at"))
            ),
            models.CheckConstraint(
                name="reservation_taking_has_lease_and_price",
                condition=~Q(state__in=sorted(TAKES_CAPACITY))
                | (Q(lease_id__isnull=False) & Q(device_id__isnull=False) & Q(price__isnull=False)
                   & Q(unit_price__isnull=False)),
            ),
            models.CheckConstraint(
                name="reservation_vector",
                condition=Q(cores_milli__gte=0) & Q(host_mib__gte=0) & Q(copy_permille__lte=1000),
            ),
            models.UniqueConstraint(name="gang_rank_once", fields=["gang", "gang_rank"]),
            models.CheckConstraint(
                name="reservation_queued_has_expiry", condition=~Q(state="queued") | Q(queued_until__isnull=False)
            ),
        ]  # fmt: skip
        indexes: ClassVar = [
            models.Index(name="reservation_by_tenant", fields=["tenant_id", "-created_at"]),
            models.Index(name="reservation_by_state", fields=["state", "starts_at"]),
            models.Index(name="reservation_by_device", fields=["device_id", "starts_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"


class ReservationEvent(models.Model):
    """One transition. Written by a trigger on the reservation, append-only."""

    id = models.UUIDField(primary_key=True)
    tenant_id = models.UUIDField()
    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="events", db_index=False)
    version = models.PositiveIntegerField()
    from_state = models.CharField(max_length=20, blank=True)
    to_state = models.CharField(max_length=20, choices=ReservationState)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=400)
    at = models.DateTimeField()

    class Meta:
        db_table = "marketplace_reservation_event"
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_event_per_transition", fields=["reservation", "version"])
        ]
        indexes: ClassVar = [models.Index(name="transition_by_tenant", fields=["tenant_id", "-at", "-id"])]

    def __str__(self) -> str:
        return f"{self.from_state or '-'} -> {self.to_state}"


class Placement(TenantRow):
    """Which leases a reservation has had, and on which device: one now, more after a move. Charges are by lease.

    The device's words are kept as they were at the time of booking: a bill outlives a card. From `free_from` on (the
    notice of an eviction) delivered time costs nothing. `why` is the score that chose the device (see services/why.py).
    """

    tenant_id = models.UUIDField()
    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="placements")
    lease_id = models.UUIDField(unique=True)
    device_id = models.UUIDField()
    device_kind = models.CharField(max_length=32)
    device_model = models.CharField(max_length=128)
    device_mib = models.BigIntegerField()
    device_simulated = models.BooleanField(default=False)
    booked_from = models.DateTimeField()
    booked_until = models.DateTimeField(null=True, blank=True)
    free_from = models.DateTimeField(null=True, blank=True)
    is_current = models.BooleanField(default=True)
    why = models.JSONField(null=True, default=None, blank=True)

    class Meta:
        db_table = "marketplace_placement"
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_current_placement", fields=["reservation"], condition=Q(is_current=True))
        ]
        indexes: ClassVar = [models.Index(name="placement_by_device", fields=["device_id"])]

    def __str__(self) -> str:
        return f"{self.lease_id} on {self.device_id}"
