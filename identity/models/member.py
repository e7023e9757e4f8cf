"""What a user is in a tenant or a project."""

from __future__ import annotations

from django.db import models

from identity.models.tenant import Project
from identity.models.user import User
from plumbing.models import TenantRow


class Role(models.TextChoices):
    """Tenant admins and finance hold their role in the whole tenant, members in one project."""

    TENANT_ADMIN = "tenant_admin"
    MEMBER = "member"
    FINANCE = "finance"


# What each role may at most do; a token's own scopes narrow it.
ROLE_SCOPES: dict[str, frozenset[str]] = {
    Role.TENANT_ADMIN: frozenset({"reservation:write", "lease:write", "billing:write", "identity:write"}),
    Role.MEMBER: frozenset({"reservation:write", "lease:write", "billing:read", "identity:read"}),
    Role.FINANCE: frozenset({"billing:write", "reservation:read", "lease:read", "identity:read"}),
}
OPERATOR_SCOPES = ROLE_SCOPES[Role.TENANT_ADMIN] | {"node:write", "price:write"}
SCOPES = tuple(sorted(
    verb for scope in OPERATOR_SCOPES for verb in (scope, scope.replace(":write", ":read"))
))  # fmt: skip


class Member(TenantRow):
    """One role of one user. Composite foreign keys (migration 0001) keep user and project in the same tenant."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, related_name="members")
    role = models.CharField(max_length=20, choices=Role)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "role"], nulls_distinct=False, name="member_has_a_role_once"
            ),
            models.CheckConstraint(
                condition=models.Q(role=Role.MEMBER, project__isnull=False)
                | (~models.Q(role=Role.MEMBER) & models.Q(project__isnull=True)),
                name="member_of_project_or_tenant",
            ),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="member_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.user_id}"
