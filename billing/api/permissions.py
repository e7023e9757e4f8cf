"""Who may see money: the finance role, a tenant's admin, an operator."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from plumbing.principal import Principal

SEES_MONEY = frozenset({"finance", "tenant_admin"})


class IsFinance(BasePermission):
    """A token's scope says what it may do; the role says who may have such a token."""

    message = "This needs the role finance or tenant_admin."

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - DRF's signature
        user = request.user
        return isinstance(user, Principal) and (user.is_operator or bool(user.roles & SEES_MONEY))
