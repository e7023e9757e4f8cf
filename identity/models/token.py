"""Personal tokens."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from identity.models.user import User
from plumbing.models import TenantRow


class Token(TenantRow):
    """Only the SHA-256 of the token is kept: 256 random bits need no slow hash, and the look-up is one index probe."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=120)
    digest = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=16)
    scopes = ArrayField(models.CharField(max_length=40))
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(expires_at__gt=models.F("created_at")), name="token_expires"),
            models.UniqueConstraint(fields=["id", "tenant_id"], name="token_with_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.hint}..."
