"""Nouns of the shop."""

from marketplace.models.eviction import Eviction, EvictionKind, EvictionReason
from marketplace.models.gang import Gang, Together
from marketplace.models.notice import Notice
from marketplace.models.offer import Offer, SliceProfile
from marketplace.models.price import ANY_SKU, LIST_SCOPE, SINCE_EVER, Meter, Price, PriceBook, tenant_scope_name
from marketplace.models.quota import Cohort, DecayedUse, Quota
from marketplace.models.quote import Quote
from marketplace.models.reach import EVERYWHERE, Reach
from marketplace.models.reservation import (
    ALLOWED,
    ENDED,
    FIRST_STATES,
    LIVE,
    TAKES_CAPACITY,
    Placement,
    Reservation,
    ReservationEvent,
    ReservationState,
)
from marketplace.models.scale import ScaleDecision, ScaleKind, ScaleOutcome, ScaleRule, ScaleSignal

__all__ = [
    "ALLOWED",
    "ANY_SKU",
    "ENDED",
    "EVERYWHERE",
    "FIRST_STATES",
    "LIST_SCOPE",
    "LIVE",
    "SINCE_EVER",
    "TAKES_CAPACITY",
    "Cohort",
    "DecayedUse",
    "Eviction",
    "EvictionKind",
    "EvictionReason",
    "Gang",
    "Meter",
    "Notice",
    "Offer",
    "Placement",
    "Price",
    "PriceBook",
    "Quota",
    "Quote",
    "Reach",
    "Reservation",
    "ReservationEvent",
    "ReservationState",
    "ScaleDecision",
    "ScaleKind",
    "ScaleOutcome",
    "ScaleRule",
    "ScaleSignal",
    "SliceProfile",
    "Together",
    "tenant_scope_name",
]
