"""Who did what: append-only, and each row carries the hash of the one before."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class AuditEvent(TenantRow):
    """`digest` = SHA-256 of the previous row's digest and this row's content (services/audit.py): a chain a tenant."""

    seq = models.PositiveBigIntegerField()
    actor_id = models.UUIDField(null=True)
    action = models.CharField(max_length=80)
    subject = models.CharField(max_length=80)
    data = models.JSONField(default=dict)
    previous_digest = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant_id", "seq"], name="audit_seq_of_tenant")]

    def __str__(self) -> str:
        return f"{self.seq} {self.action}"
