"""A node: one machine with an agent, known by a key pair that was made there."""

from __future__ import annotations

from django.db import models

from allocator.models.pool import Pool, Site
from plumbing.models import TenantRow


class NodeState(models.TextChoices):
    ACTIVE = "active"
    REVOKED = "revoked"


ALLOWED: dict[str, frozenset[str]] = {
    NodeState.ACTIVE: frozenset({NodeState.REVOKED}),
    NodeState.REVOKED: frozenset(),
}


class Node(TenantRow):
    """`is_online` is the watch's verdict, not a ping: it turns False only after the failure timeout.

    `cordoned_at` is set while nothing new may be booked on it, for whatever period; what is booked goes on. A `standby`
    node takes nothing but what fail-over brings. `authority_until` is the latest instant until which its agent may keep
    gates open without hearing from us. `settling_since` is set while its agent still has slices that were given up.
    Without a `pool` it is filled by the default policy. `topology` is what an operator uploaded (`engine.topology`).
    """

    hostname = models.CharField(max_length=253)
    machine_id = models.CharField(max_length=64, db_index=True)
    agent_version = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64, default="", blank=True)
    state = models.CharField(max_length=16, choices=NodeState.choices, default=NodeState.ACTIVE)
    is_online = models.BooleanField(default=False)
    last_seen_at = models.DateTimeField(null=True)
    clock_offset_ms = models.BigIntegerField(null=True)
    rack = models.CharField(max_length=64, default="", blank=True)
    cordoned_at = models.DateTimeField(null=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, null=True, default=None, related_name="nodes")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, null=True, default=None, related_name="nodes")
    topology = models.JSONField(null=True, default=None, blank=True)
    standby = models.BooleanField(default=False, db_default=False)
    authority_until = models.DateTimeField(null=True)
    settling_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # Two rows for one machine would sell its devices twice.
            models.UniqueConstraint(
                fields=["machine_id"], condition=models.Q(state="active"), name="node_one_active_per_machine"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hostname} {self.id}"


class NodeKey(TenantRow):
    """An Ed25519 public key (raw, 32 bytes). A rotation leaves the old key valid until `revoked_at`."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="keys")
    public_key = models.BinaryField(max_length=32)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"key of {self.node_id}"


class Enrolment(TenantRow):
    """A one-time token, kept as its SHA-256 only. `node` is the node to re-key, or the node that came of it."""

    token_digest = models.BinaryField(max_length=32, unique=True)
    note = models.CharField(max_length=200, default="", blank=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="enrolments")

    def __str__(self) -> str:
        return f"enrolment {self.id}"


class SpentToken(TenantRow):
    """The `jti` of a node token that opened a door which a replay must not open again."""

    jti = models.CharField(max_length=64)
    node = models.ForeignKey(Node, on_delete=models.CASCADE)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "jti"], name="spent_token_once")]

    def __str__(self) -> str:
        return self.jti
