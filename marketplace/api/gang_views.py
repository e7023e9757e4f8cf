"""Doors of gangs: each parses and makes one call."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import inputs
from marketplace.api.permissions import actor_of, reach_of
from marketplace.api.reservation_views import order_in
from marketplace.api.serializers import ReservationSerializer
from marketplace.matching.queue_order import Urgency
from marketplace.models import ReservationState, Together
from marketplace.selectors import gangs
from marketplace.services import gang_orders
from marketplace.services.gang import pci_of
from marketplace.services.gang_orders import ShownGang
from plumbing.api.fields import TypedId
from plumbing.api.idempotency import idempotent
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView

TAGS = ["gangs"]


class GangMemberSerializer(serializers.Serializer[Any]):
    """Where a member runs, in rank order: what a launcher of ranks needs. Null until it has a lease."""

    rank = serializers.IntegerField()
    reservation = TypedId("rsv")
    node = TypedId("nod", allow_null=True)
    hostname = serializers.CharField(allow_null=True)
    device = TypedId("dev", allow_null=True)
    pci_bus_id = serializers.CharField(allow_null=True, help_text="Null for what is no card, or does not tell.")


class GangSerializer(serializers.Serializer[Any]):
    """Reservations that were bought together, all or none. Each is changed, billed and ends by itself."""

    id = TypedId("gng")
    name = serializers.CharField(help_text="For people; may be empty.")
    tenant = TypedId("ten")
    project = TypedId("prj")
    count = serializers.IntegerField()
    together = serializers.ChoiceField(Together.choices)
    members = GangMemberSerializer(many=True)
    reservations = ReservationSerializer(many=True)
    created_at = serializers.DateTimeField()


class GangBriefSerializer(serializers.Serializer[Any]):
    id = TypedId("gng")
    name = serializers.CharField()
    project = TypedId("prj", source="project_id")
    count = serializers.IntegerField()
    together = serializers.ChoiceField(Together.choices)
    created_at = serializers.DateTimeField()


def _document(shown: ShownGang) -> dict[str, Any]:
    gang = shown.gang
    members = []
    for member in shown.members:
        device = None if member.lease is None else shown.devices.get(member.lease.device_id)
        members.append({
            "rank": member.row.gang_rank, "reservation": member.row.pk,
            "node": None if device is None else device.node_id,
            "hostname": None if device is None else device.node_hostname,
            "device": None if device is None else device.id,
            "pci_bus_id": None if device is None else pci_of(device) or None,
        })  # fmt: skip
    values = {
        "id": gang.pk, "name": gang.name, "tenant": gang.tenant_id, "project": gang.project_id, "count": gang.count,
        "together": gang.together, "members": members, "reservations": shown.members, "created_at": gang.created_at,
    }  # fmt: skip
    return dict(GangSerializer(values).data)


class GangsView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(operation_id="list_gangs", tags=TAGS, parameters=PARAMETERS, responses=page_of(GangBriefSerializer))
    def get(self, request: Request) -> Response:
        """The caller's gangs, newest first."""
        rows, following = Cursor().page(gangs.gangs(reach=reach_of(self.principal(request))), request.query_params)
        return Response({"items": GangBriefSerializer(rows, many=True).data, "next": following})

    @extend_schema(
        operation_id="create_gang",
        tags=TAGS,
        request=inputs.GangIn,
        responses={201: GangSerializer, 202: GangSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Buy several slices at once, all or none. 409 `no_capacity` counts what ruled devices out: `not_together` are
        those where a member would fit, but not so near to the others. With `queue` the answer is then 202."""
        principal = self.principal(request)
        asked = self.parsed(request, inputs.GangIn)
        order = order_in(
            asked, principal, queue=asked["queue"], priority=asked["priority"] or Urgency.NORMAL,
            queued_until=asked["queue_until"],
        )  # fmt: skip
        shown = gang_orders.reserve_gang(
            order=order, count=asked["count"], together=asked["together"], requested_by=principal.user_id,
            actor=actor_of(principal), reach=reach_of(principal), name=asked["name"], now=timezone.now(),
        )  # fmt: skip
        is_queued = any(member.row.state == ReservationState.QUEUED for member in shown.members)
        return Response(_document(shown), status=202 if is_queued else 201)


class GangView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(operation_id="get_gang", tags=TAGS, responses=GangSerializer)
    def get(self, request: Request, gang: str) -> Response:
        """One gang, its members by rank."""
        reach = reach_of(self.principal(request))
        return Response(_document(gang_orders.get_gang(gang_id=path_id("gng", gang), reach=reach, now=timezone.now())))

    @extend_schema(operation_id="release_gang", tags=TAGS, request=None, responses=GangSerializer)
    def delete(self, request: Request, gang: str) -> Response:
        """Give every member back, or take all wishes out of line. Safe to repeat; it stays on record."""
        principal = self.principal(request)
        shown = gang_orders.release_gang(
            gang_id=path_id("gng", gang), reach=reach_of(principal), actor=actor_of(principal), now=timezone.now()
        )
        return Response(_document(shown))
