"""Reads of gangs."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from marketplace.models import EVERYWHERE, Gang, Reach, Reservation
from plumbing.errors import NotFound


def gangs(*, reach: Reach = EVERYWHERE) -> QuerySet[Gang]:
    """For paging."""
    return reach.limit(Gang.objects.all())


def get_gang(*, gang_id: UUID, reach: Reach = EVERYWHERE) -> Gang:
    """Raises NotFound, also for one out of reach."""
    row = gangs(reach=reach).filter(pk=gang_id).first()
    if row is None:
        raise NotFound("There is no such gang.", suggestion="List yours at /api/v1/gangs.")
    return row


def list_gang(*, gang_id: UUID) -> QuerySet[Reservation]:
    """Its members by rank."""
    return Reservation.objects.filter(gang_id=gang_id).order_by("gang_rank")
