"""A tenant is a customer; a project is a part of one."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class Tenant(TenantRow):
    """`tenant_id` is the tenant's own id, so that row-level security needs no exception."""

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=63, unique=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(tenant_id=models.F("id")), name="tenant_is_its_own_tenant"),
            models.CheckConstraint(condition=~models.Q(slug=""), name="tenant_has_a_slug"),
        ]

    def __str__(self) -> str:
        return self.slug


class Project(TenantRow):
    """What reservations are made for. The table also has a foreign key on `tenant_id` (migration 0001)."""

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "slug"], name="project_slug_of_tenant"),
            models.UniqueConstraint(fields=["id", "tenant_id"], name="project_with_tenant"),
        ]

    def __str__(self) -> str:
        return self.slug
