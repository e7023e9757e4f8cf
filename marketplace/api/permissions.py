"""Whose reservations a caller reaches."""

from __future__ import annotations

from django.conf import settings

from marketplace.services.reaching import TENANT_WIDE, reach_of
from plumbing.errors import Forbidden
from plumbing.principal import Principal
from vxpu.ids import encode

__all__ = ["actor_of", "house_currency", "may_set_quotas", "reach_of", "sees_money"]


def sees_money(principal: Principal) -> bool:
    """Invoices are for finance, the tenant's admin and operators."""
    return principal.is_operator or bool(principal.roles & TENANT_WIDE)


def actor_of(principal: Principal) -> str:
    """The name under which a transition is noted."""
    return f"user:{encode('usr', principal.user_id)}"


def may_set_quotas(principal: Principal) -> None:
    """Raises Forbidden."""
    if not principal.is_operator and "tenant_admin" not in principal.roles:
        raise Forbidden("Only a tenant's admin or an operator sets quotas.", suggestion="Ask one of them.")


def house_currency() -> str:
    return str(settings.VXPU_CURRENCY)
