"""Doors of moves: they are the operator's. A tenant sees the moves of his leases on his reservations."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.api import move_io as io
from allocator.models.relocation import MovePlanState
from allocator.selectors import moves
from allocator.services import make_room, move_plans
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView
from vxpu.market import Wish
from vxpu.slices import Period, Slice
from vxpu.states import Isolation


def _shown(plan_id: UUID, *, status: int = 200) -> Response:
    return Response(io.MovePlanDetailSerializer(moves.plan_view(plan_id=plan_id)).data, status=status)


class MovePlansView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(
        operation_id="list_move_plans",
        tags=["moves"],
        parameters=PARAMETERS,
        responses=page_of(io.MovePlanSerializer),
    )
    def get(self, request: Request) -> Response:
        """Plans of moves, those that have ended too."""
        rows, following = Cursor().page(moves.plans(), request.query_params)
        views = [moves.brief_of(row) for row in rows]
        return Response({"items": io.MovePlanSerializer(views, many=True).data, "next": following})

    @extend_schema(
        operation_id="create_move_plan",
        tags=["moves"],
        request=io.MovePlanIn,
        responses={201: io.MovePlanDetailSerializer},
    )
    def post(self, request: Request) -> Response:
        """Move a running lease to a device. Reservation and price stay. 409 `nothing_to_move`: it cannot be now."""
        asked = self.parsed(request, io.MovePlanIn)
        plan_id = move_plans.move_one(
            lease_id=asked["lease"], device_id=asked["device"], reason=asked["reason"],
            actor=self.principal(request).name, now=timezone.now(),
        )  # fmt: skip
        return _shown(plan_id, status=201)


class RoomPreviewView(DomainView):
    permission_classes = [IsOperator, scope("node:read")]

    @extend_schema(operation_id="preview_room", tags=["moves"], request=io.RoomIn, responses=io.RoomPreviewSerializer)
    def post(self, request: Request) -> Response:
        """A dry run: whose leases would be moved to make room for such slices. Nothing is changed."""
        asked, now = self.parsed(request, io.RoomIn), timezone.now()
        wish = Wish(
            slice=Slice(memory_mib=asked["memory_mib"], share_permille=asked["share_permille"]),
            period=Period(starts_at=now, ends_at=now + timedelta(hours=asked["hours"]) if asked["hours"] else None),
            device_kind=asked["device_kind"], pool=asked["pool"],
            isolation_at_least=Isolation.EXCLUSIVE if asked["whole"] else None,
        )  # fmt: skip
        found = make_room.preview(wish=wish, count=asked["count"], moves=asked["moves"], now=now)
        return Response(io.RoomPreviewSerializer(found).data)


class MovePlanView(DomainView):
    permission_classes = [IsOperator, scope("node:read")]

    @extend_schema(operation_id="get_move_plan", tags=["moves"], responses=io.MovePlanDetailSerializer)
    def get(self, request: Request, plan: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One plan with its moves, in order."""
        return _shown(path_id("mpl", plan))


class CancelMovePlanView(DomainView):
    permission_classes = [IsOperator, scope("node:write")]

    @extend_schema(
        operation_id="cancel_move_plan", tags=["moves"], request=io.CancelPlanIn, responses=io.MovePlanDetailSerializer
    )
    def post(self, request: Request, plan: str) -> Response:
        """What has not switched stays where it is, and what is held is given back. Safe to repeat."""
        plan_id, asked = path_id("mpl", plan), self.parsed(request, io.CancelPlanIn)
        moves.get_plan(plan_id=plan_id)
        move_plans.stop(
            plan_id=plan_id, to=MovePlanState.CANCELLED, reason=asked["reason"], actor=self.principal(request).name,
            now=timezone.now(),
        )  # fmt: skip
        return _shown(plan_id)
