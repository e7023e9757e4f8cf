"""Why a running lease stays where it is, whatever a plan of moves would like: one rule for plans and for lists."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Case, CharField, Exists, OuterRef, Q, Value, When

from allocator.models import Lease, Relocation
from allocator.models.relocation import OPEN
from vxpu.states import Isolation, LeaseState

# `no_room` is found by looking (services/drain_impact.py), the others are in the rows. The first that holds is told.
STAYS = ("moving", "not_running", "node_offline", "pinned", "together", "whole_card", "ends_soon", "no_room")


def stays(*, now: datetime) -> Case:
    """As an annotation of leases with their nodes: one of STAYS, empty for a lease that may be moved."""
    soon = now + timedelta(seconds=settings.VXPU_MOVE_MIN_LEFT_S)
    reasons: dict[str, Q | Exists] = {
        "moving": Exists(Relocation.objects.filter(lease=OuterRef("pk"), state__in=OPEN)),
        "not_running": ~Q(state=LeaseState.READY),
        "node_offline": Q(node__is_online=False),
        "pinned": Q(pinned=True),
        "together": Q(wanted__together="node") | Q(wanted__devices__gt=1),
        # A slice of a card that runs one program at a time: what it would ask for is another thing, a whole card.
        "whole_card": Q(whole=False, isolation=Isolation.EXCLUSIVE),
        "ends_soon": Q(ends_at__lte=soon),
    }
    return Case(
        *(When(condition, then=Value(name)) for name, condition in reasons.items()),
        default=Value(""), output_field=CharField(),
    )  # fmt: skip


def why_it_stays(*, lease: Lease, now: datetime) -> str:
    """The same of one lease."""
    return str(Lease.objects.annotate(stays=stays(now=now)).values_list("stays", flat=True).get(pk=lease.pk))
