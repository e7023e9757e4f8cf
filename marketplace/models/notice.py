"""News that no other row tells: append-only, written in the transaction of what it tells of."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from plumbing.models import TenantRow


class Notice(TenantRow):
    """`kind` is like ``"quota.changed"``; `subject` a public id; `project_id` None concerns the whole tenant.

    `created_at` is when it happened. `data` holds JSON types, never secrets.
    """

    kind = models.CharField(max_length=64)
    subject = models.CharField(max_length=64)
    project_id = models.UUIDField(null=True, blank=True)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=400, blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        db_table = "marketplace_notice"
        indexes: ClassVar = [models.Index(name="notice_by_tenant", fields=["tenant_id", "-created_at", "-id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
