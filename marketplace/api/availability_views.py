"""The door of the calendar. A long answer: its documents are plain dictionaries, and the serializers describe them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.fields import nullable
from marketplace.api.permissions import reach_of
from marketplace.models import Reservation, ReservationState
from marketplace.services.availability import Availability, availability
from plumbing.api.fields import Instant, TypedId
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView
from vxpu.ids import encode
from vxpu.market import CalendarRow, PieceView
from vxpu.states import DeviceKind, Isolation

STEP_S = 900


class AvailabilityQuery(serializers.Serializer[Any]):
    memory_mib = serializers.IntegerField(required=False, default=1)
    share_permille = serializers.IntegerField(required=False, default=1)
    device_kind = nullable(serializers.CharField, max_length=32)
    device = nullable(TypedId, "dev")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python."""
        return {**super().get_fields(), "from": Instant(), "to": Instant()}


class FreeSerializer(serializers.Serializer[Any]):
    """The slice that was asked for fits at each instant of [starts_at, ends_at)."""

    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()


class PieceSerializer(serializers.Serializer[Any]):
    """Capacity that is taken. What is not the caller's has no name. `lane` is a row to draw it in."""

    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    memory_mib = serializers.IntegerField()
    share_permille = serializers.IntegerField()
    whole = serializers.BooleanField(help_text="The whole device, for nobody beside it.")
    lane = serializers.IntegerField()
    mine = serializers.BooleanField(help_text="Of the caller's tenant, and within his projects.")
    reservation = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(ReservationState.choices, allow_null=True)
    project = serializers.CharField(allow_null=True)


class ClosedSerializer(serializers.Serializer[Any]):
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True, help_text="null: until it is put back.")
    reason = serializers.CharField()


class DeviceCalendarSerializer(serializers.Serializer[Any]):
    device = serializers.CharField()
    node = serializers.CharField()
    rack = serializers.CharField(allow_blank=True)
    hostname = serializers.CharField()
    model = serializers.CharField()
    kind = serializers.ChoiceField([kind.value for kind in DeviceKind])
    simulated = serializers.BooleanField()
    online = serializers.BooleanField()
    isolation = serializers.ChoiceField([mode.value for mode in Isolation])
    capacity_mib = serializers.IntegerField()
    capacity_permille = serializers.IntegerField()
    cordoned = serializers.BooleanField(help_text="Nothing new is booked on it.")
    free = FreeSerializer(many=True)
    pieces = PieceSerializer(many=True)
    maintenance = ClosedSerializer(many=True)


class AvailabilitySerializer(serializers.Serializer[Any]):
    """One snapshot. `step_s` is the grid that a calendar snaps to; bookings may lie off it."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python."""
        return {
            "from": serializers.DateTimeField(),
            "to": serializers.DateTimeField(),
            "step_s": serializers.IntegerField(),
            "items": DeviceCalendarSerializer(many=True),
        }


class AvailabilityView(DomainView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(
        operation_id="get_availability",
        tags=["calendar"],
        parameters=[
            OpenApiParameter("from", OpenApiTypes.DATETIME, required=True, description="With offset."),
            OpenApiParameter("to", OpenApiTypes.DATETIME, required=True, description="At most 62 days later."),
            OpenApiParameter("memory_mib", OpenApiTypes.INT, description="The slice that is to fit; 1 if absent."),
            OpenApiParameter("share_permille", OpenApiTypes.INT, description="1 if absent."),
            OpenApiParameter("device_kind", OpenApiTypes.STR),
            OpenApiParameter("device", OpenApiTypes.STR),
        ],
        responses=AvailabilitySerializer,
    )
    def get(self, request: Request) -> Response:
        """What is taken of each device, and the periods in which a slice would fit: exact, not on a grid."""
        principal = self.principal(request)
        asked = self.parsed_query(request, AvailabilityQuery)
        found = availability(
            reach=reach_of(principal), starts_at=asked["from"], ends_at=asked["to"], memory_mib=asked["memory_mib"],
            share_permille=asked["share_permille"], device_kind=asked["device_kind"], device_id=asked["device"],
            now=timezone.now(),
        )  # fmt: skip
        return Response(document(found, tenant_id=principal.tenant_id))


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def document(found: Availability, *, tenant_id: UUID) -> dict[str, Any]:
    return {
        "from": _iso(found.starts_at),
        "to": _iso(found.ends_at),
        "step_s": STEP_S,
        "items": [_device(row, found, tenant_id) for row in found.rows],
    }


def _device(row: CalendarRow, found: Availability, tenant_id: UUID) -> dict[str, Any]:
    device = row.device
    return {
        "device": encode("dev", device.id), "node": encode("nod", device.node_id), "rack": device.rack,
        "hostname": device.node_hostname, "model": device.model, "kind": str(device.kind),
        "simulated": device.simulated, "online": device.online, "isolation": str(device.isolation),
        "capacity_mib": device.capacity_mib, "capacity_permille": device.capacity_permille,
        "cordoned": device.cordoned,
        "free": [{"starts_at": _iso(free.starts_at), "ends_at": _iso(free.ends_at)} for free in row.free],
        "pieces": [_piece(piece, found.named.get(piece.owner), tenant_id) for piece in row.pieces],
        "maintenance": [
            {"starts_at": _iso(closed.starts_at), "ends_at": _iso(closed.ends_at), "reason": closed.reason}
            for closed in row.maintenance
        ],
    }  # fmt: skip


def _piece(piece: PieceView, named: Reservation | None, tenant_id: UUID) -> dict[str, Any]:
    return {
        "starts_at": _iso(piece.starts_at), "ends_at": _iso(piece.ends_at), "memory_mib": piece.slice.memory_mib,
        "share_permille": piece.slice.share_permille, "whole": piece.whole, "lane": piece.lane,
        "mine": named is not None and named.tenant_id == tenant_id,
        "reservation": None if named is None else encode("rsv", named.pk),
        "name": None if named is None else named.name,
        "state": None if named is None else str(named.state),
        "project": None if named is None else encode("prj", named.project_id),
    }  # fmt: skip
