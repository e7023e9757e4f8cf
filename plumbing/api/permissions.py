"""What a caller may do: a token's scopes, or being an operator."""

from __future__ import annotations

from functools import cache
from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from plumbing.principal import Principal


class IsOperator(BasePermission):
    """Operators run the fleet and set prices; they are not tied to a tenant."""

    message = "Only an operator may do this."

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - DRF's signature
        return isinstance(request.user, Principal) and request.user.is_operator


@cache
def scope(wanted: str) -> type[BasePermission]:
    """``scope("lease:write")`` wants just that; ``scope("lease")`` wants lease:read for reads and lease:write else."""

    class HasScope(BasePermission):
        def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - DRF's signature
            needed = wanted if ":" in wanted else f"{wanted}:{'read' if request.method in SAFE_METHODS else 'write'}"
            self.message = f"This needs the scope {needed}."
            return isinstance(request.user, Principal) and request.user.may(needed)

    return HasScope
