"""Whose reservations a caller reaches, by REST and by the live socket."""

from __future__ import annotations

from marketplace.models import Reach
from plumbing.principal import Principal

# These see the whole tenant; a member sees the projects that he is a member of.
TENANT_WIDE = frozenset({"tenant_admin", "finance"})


def reach_of(principal: Principal) -> Reach:
    if principal.is_operator:
        return Reach()
    projects = None if principal.roles & TENANT_WIDE else principal.project_ids
    return Reach(tenant_id=principal.tenant_id, project_ids=projects)
