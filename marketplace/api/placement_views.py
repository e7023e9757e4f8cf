"""The door that says why a reservation is where it is."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.permissions import reach_of
from marketplace.api.serializers import PlacedOnSerializer
from marketplace.services import why
from plumbing.api.fields import TypedId
from plumbing.api.ids import path_id
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView


class TermSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.IntegerField(help_text="Points; the terms add up to the score.")
    text = serializers.CharField()


class WhySerializer(serializers.Serializer[Any]):
    """The score that chose the device. `fitted`: on so many devices it would have fitted; `runner_up`: the points of
    the next best one, null if there was none. All null where no score chose, as after a move."""

    lease = TypedId("lse", source="placement.lease_id")
    device = PlacedOnSerializer(source="placement")
    policy = serializers.CharField()
    policy_text = serializers.CharField()
    score = serializers.IntegerField(allow_null=True)
    terms = TermSerializer(many=True)
    fitted = serializers.IntegerField(allow_null=True)
    runner_up = serializers.IntegerField(allow_null=True)
    text = serializers.CharField(help_text="The same in a sentence.")


class PlacementView(DomainView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(operation_id="get_placement", tags=["reservations"], responses=WhySerializer)
    def get(self, request: Request, reservation: str) -> Response:
        """Why it is on that device. 409 `not_placed_yet` while it waits in line."""
        reach = reach_of(self.principal(request))
        found = why.why_here(reservation_id=path_id("rsv", reservation), reach=reach)
        return Response(WhySerializer(found).data)
