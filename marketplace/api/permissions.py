"""Whose reservations a caller reaches."""

from __future__ import annotations

from django.conf import settings

from marketplace.models import Reach
from plumbing.errors import Forbidden
from plumbing.principal import Principal
from vxpu.ids import encode

# These see the whole tenant; a member sees the projects that he is a member of.
TENANT_WIDE = frozenset({"tenant_admin", "finance"})


def reach_of(principal: Principal) -> Reach:
    if principal.is_operator:
        return Reach()
    projects = None if principal.roles & TENANT_WIDE else principal.project_ids
    return Reach(tenant_id=principal.tenant_id, project_ids=projects)


def actor_of(principal: Principal) -> str:
    """The name under which a transition is noted."""
    return f"user:{encode('usr', principal.user_id)}"


def may_set_quotas(principal: Principal) -> None:
    """Raises Forbidden."""
    if not principal.is_operator and "tenant_admin" not in principal.roles:
        raise Forbidden("Only a tenant's admin or an operator sets quotas.", suggestion="Ask one of them.")


def house_currency() -> str:
    return str(settings.VXPU_CURRENCY)
