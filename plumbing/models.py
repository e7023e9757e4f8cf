"""The base of every row, and plumbing's own two tables."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from vxpu.ids import new_uuid


class TenantRow(models.Model):
    """A row of one tenant. Concrete tables add `plumbing.rowsec.EnableRowSecurity` to their migration.

    `created_at` is UTC; services pass their own `now` for it.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    tenant_id = models.UUIDField(db_index=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True


class OutboxEvent(TenantRow):
    """News that was committed with its cause and is not yet handed to the tasks that want it."""

    kind = models.CharField(max_length=200)
    payload = models.JSONField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class IdempotencyKey(TenantRow):
    """What was asked under a key and, once it is done, what was answered.

    `attempt` names the request that runs now; whoever finds `leased_until` in the past may take over with a new one.
    """

    key = models.CharField(max_length=255)
    request_digest = models.BinaryField(max_length=32)
    attempt = models.UUIDField()
    leased_until = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(null=True)  # noqa: DJ001 - null means not answered yet, which is not an empty answer

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "key"], name="idempotency_key_of_tenant"),
            models.CheckConstraint(
                condition=models.Q(status__isnull=True, body__isnull=True)
                | models.Q(status__isnull=False, body__isnull=False),
                name="idempotency_answer_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return self.key
