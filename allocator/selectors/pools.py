"""Pools and sites. Callers are in the system scope."""

from __future__ import annotations

from django.db.models import Count, QuerySet

from allocator.models import Device, Pool, Site
from plumbing.errors import NotFound
from vxpu.market import Choices


def pools() -> QuerySet[Pool]:
    """For paging; with the number of their active nodes."""
    return Pool.objects.annotate(node_count=Count("nodes"))


def sites() -> QuerySet[Site]:
    """As `pools`."""
    return Site.objects.annotate(node_count=Count("nodes"))


def get_pool(*, name: str) -> Pool:
    """Raises NotFound."""
    row = pools().filter(name=name).first()
    if row is None:
        raise NotFound(f"There is no pool {name!r}.", suggestion="See /api/v1/pools.")
    return row


def get_site(*, name: str) -> Site:
    """Raises NotFound."""
    row = sites().filter(name=name).first()
    if row is None:
        raise NotFound(f"There is no site {name!r}.", suggestion="See /api/v1/sites.")
    return row


def list_choices() -> Choices:
    """Models of active nodes' devices, and the names of pools and sites."""
    models = Device.objects.filter(node__state="active").order_by("model").values_list("model", flat=True).distinct()
    return Choices(
        models=tuple(models),
        pools=tuple(Pool.objects.order_by("name").values_list("name", flat=True)),
        sites=tuple(Site.objects.order_by("name").values_list("name", flat=True)),
    )
