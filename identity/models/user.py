"""A person (or a machine) that can be known by a token."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from plumbing.models import TenantRow


class UserManager(BaseUserManager["User"]):
    """Django asks for one; users are made by `identity.services`."""


class User(AbstractBaseUser, TenantRow):
    """Belongs to one tenant. `is_operator` is set for people of the operator tenant only."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120)
    is_operator = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="user_email_without_case"),
            models.UniqueConstraint(fields=["id", "tenant_id"], name="user_with_tenant"),
        ]

    def __str__(self) -> str:
        return self.email
