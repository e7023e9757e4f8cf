"""Log-ins of browsers."""

from __future__ import annotations

from django.db import models

from identity.models.token import Token
from identity.models.user import User
from plumbing.models import TenantRow


class Session(TenantRow):
    """One browser that is logged in; as of a token, only the SHA-256 of its secret is kept.

    `token` is the one it was opened with, if it was not a password: the session lives no longer than that and may do
    no more. Composite foreign keys (migration 0002) keep user and token in the session's tenant.
    """

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="sessions")
    token = models.ForeignKey(Token, on_delete=models.PROTECT, null=True, related_name="sessions")
    digest = models.BinaryField(max_length=32, unique=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    address = models.GenericIPAddressField(null=True)
    client = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(expires_at__gt=models.F("created_at")), name="session_expires"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
