"""A node as a host: what it has beside its devices."""

from __future__ import annotations

from django.db import models

from allocator.models.node import Node
from plumbing.models import TenantRow


class NodeHost(TenantRow):
    """One row a node (a trigger makes it). None is "the agent did not say": then nothing is refused.

    A row of its own, so that a booking, which bumps `version`, never waits for a heartbeat, which writes the node.
    """

    node = models.OneToOneField(Node, on_delete=models.CASCADE, related_name="host")
    cores_milli = models.PositiveBigIntegerField(null=True, default=None)
    memory_mib = models.PositiveBigIntegerField(null=True, default=None)
    capacity_cores_milli = models.PositiveBigIntegerField(null=True, default=None)
    capacity_mib = models.PositiveBigIntegerField(null=True, default=None)
    version = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"host of {self.node_id}"
