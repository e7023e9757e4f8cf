"""Reads of scaling rules and of what they decided."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from marketplace.models import EVERYWHERE, Reach, Reservation, ReservationState, ScaleDecision
from marketplace.selectors import get_reservation


def list_scaled() -> list[UUID]:
    """Running reservations with a rule that is on, oldest first."""
    rows = Reservation.objects.filter(
        state=ReservationState.ACTIVE, released_at__isnull=True, scale_rules__is_enabled=True
    )
    return list(rows.order_by("created_at", "id").distinct().values_list("pk", flat=True))


def list_decisions(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> QuerySet[ScaleDecision]:
    """For paging. Raises NotFound."""
    row = get_reservation(reservation_id=reservation_id, reach=reach)
    return ScaleDecision.objects.filter(reservation=row)
