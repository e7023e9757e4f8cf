"""What was taken from whom for whom: append-only."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from marketplace.models.reservation import Reservation
from plumbing.models import TenantRow


class EvictionKind(models.TextChoices):
    """`noticed` first; then `evicted`, or `spared` when the room was not needed after all, or neither when the victim
    ended by itself."""

    NOTICED = "noticed"
    EVICTED = "evicted"
    SPARED = "spared"


class EvictionReason(models.TextChoices):
    """`reclaimed` is lent quota that its owner takes back."""

    PREEMPTED = "preempted"
    RECLAIMED = "reclaimed"


class Eviction(TenantRow):
    """One step of an eviction of `reservation` (whose tenant the row is of) for the reservation `for_id`.

    `wasted_permille_s` is the work that is lost: time since the last checkpoint x dominant share, estimated at the
    notice. `refunded_permille_s` is what was delivered from the notice on, and is not charged.
    """

    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="eviction_rows")
    for_id = models.UUIDField(db_index=True)
    kind = models.CharField(max_length=16, choices=EvictionKind)
    reason = models.CharField(max_length=16, choices=EvictionReason)
    lease_id = models.UUIDField()
    node_id = models.UUIDField()
    at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    wasted_permille_s = models.BigIntegerField(default=0)
    refunded_permille_s = models.BigIntegerField(default=0)

    class Meta:
        db_table = "marketplace_eviction"
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_eviction_step_per_lease", fields=["lease_id", "kind", "at"]),
            models.CheckConstraint(
                name="eviction_amounts", condition=Q(wasted_permille_s__gte=0) & Q(refunded_permille_s__gte=0)
            ),
            models.CheckConstraint(name="eviction_of_another", condition=~Q(reservation_id=F("for_id"))),
        ]
        indexes: ClassVar = [models.Index(name="eviction_by_reservation", fields=["reservation", "-at"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.reservation_id}"
