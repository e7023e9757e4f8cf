"""What happened to reservations. Handed to the outbox; config/subscriptions.py says who listens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationConfirmed:
    """Capacity is taken and a price is agreed."""

    tenant_id: UUID
    reservation_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationQueued:
    tenant_id: UUID
    reservation_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEnded:
    """`state` is the end that it came to: completed, cancelled, expired, failed..."""

    tenant_id: UUID
    reservation_id: UUID
    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierStartOffered:
    """Capacity was freed before the booked start. Offered, never imposed: the tenant takes it by start-earlier."""

    tenant_id: UUID
    reservation_id: UUID
    starts_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPreempted:
    """Its slice went to another. `refunded_permille_s`, all that was delivered from the notice on, is not charged;
    `wasted_permille_s` is the work since its last checkpoint. The reservation goes back in line."""

    tenant_id: UUID
    reservation_id: UUID
    reason: str
    wasted_permille_s: int
    refunded_permille_s: int
    at: datetime
