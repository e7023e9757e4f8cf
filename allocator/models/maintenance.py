"""When a node is out of service on purpose, and what operators did to it."""

from __future__ import annotations

from django.db import models

from allocator.models.node import Node
from plumbing.models import TenantRow


class DrainState(models.TextChoices):
    """Of a node. It follows from its open maintenance and the clock, so there is nothing to move."""

    NONE = "none"
    PLANNED = "planned"
    DRAINING = "draining"
    DRAINED = "drained"


class Maintenance(TenantRow):
    """[starts_at, ends_at), open until the node is put back: no new lease may reach into it (`allocator_closed`).

    `drained_at` is when the last lease was gone. One that was called off before its start is empty.
    """

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="maintenance")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    drained_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=200)
    started_by = models.CharField(max_length=80)
    ended_by = models.CharField(max_length=80, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node"], condition=models.Q(ends_at__isnull=True), name="maintenance_one_open_per_node"
            ),
            models.CheckConstraint(
                condition=models.Q(ends_at__isnull=True) | models.Q(ends_at__gte=models.F("starts_at")),
                name="maintenance_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"maintenance of {self.node_id} from {self.starts_at}"


class NodeEvent(TenantRow):
    """What happened to a node, by whom and why; append-only."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="events")
    kind = models.CharField(max_length=32)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=400, default="", blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["-at"], name="node_event_newest")]

    def __str__(self) -> str:
        return f"{self.kind} {self.node_id}"
