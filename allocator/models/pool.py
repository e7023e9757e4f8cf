"""Where nodes stand and how they are filled: pools with a policy, sites with their power and their distance."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class Pool(TenantRow):
    """Nodes that are filled by one policy. `may_override`: a wish may name another one.

    `room_moves`: at most so many moves make room for one wish (0: none); `moves_per_tenant_day`: so often in 24 hours a
    tenant's leases in the pool may be moved. None is the server's setting.
    """

    name = models.CharField(max_length=64, unique=True)
    policy = models.CharField(max_length=32)
    may_override = models.BooleanField(default=False)
    room_moves = models.PositiveSmallIntegerField(null=True, blank=True, default=None)
    moves_per_tenant_day = models.PositiveSmallIntegerField(null=True, blank=True, default=None)
    description = models.CharField(max_length=200, default="", blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(name=""), name="pool_has_a_name")]

    def __str__(self) -> str:
        return self.name


class Site(TenantRow):
    """A place with its power: PUE in permille (1000: nothing is lost), grams of CO2 for a kWh; None is not known.

    `latency_ms` maps other sites' names to the time of a round trip. `topology` describes the nodes of the site that
    have none of their own (`engine.topology`).
    """

    name = models.CharField(max_length=64, unique=True)
    pue_permille = models.PositiveIntegerField(null=True, default=None)
    carbon_g_per_kwh = models.PositiveIntegerField(null=True, default=None)
    latency_ms = models.JSONField(default=dict, blank=True)
    topology = models.JSONField(null=True, default=None, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="site_has_a_name"),
            models.CheckConstraint(
                condition=models.Q(pue_permille__isnull=True) | models.Q(pue_permille__gte=1000), name="site_pue_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name
