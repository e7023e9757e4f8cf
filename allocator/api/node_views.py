"""Doors of nodes: they are the operator's."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.api import node_io as io
from allocator.selectors import nodes
from allocator.services import cordon, drain_impact, drain_node, enrol, standby
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView

AT = [OpenApiParameter("at", datetime, description="When the drain is to begin; now if absent.")]


class EnrolmentsView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(
        operation_id="create_enrolment", tags=["nodes"], request=io.EnrolmentIn, responses={201: io.EnrolmentSerializer}
    )
    def post(self, request: Request) -> Response:
        """A one-time token for a new node, good for an hour; it is shown this once."""
        asked = self.parsed(request, io.EnrolmentIn)
        made = enrol.issue_enrolment(note=asked["note"], node_id=asked["node"], now=timezone.now())
        shown = {
            "id": made.id,
            "one_time_token": made.one_time_token,
            "expires_at": made.expires_at,
            "command": enrol.command_line(made.one_time_token, server=settings.VXPU_WEB_URL),
        }
        return Response(io.EnrolmentSerializer(shown).data, status=201)


class NodesView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(
        operation_id="list_nodes", tags=["nodes"], parameters=PARAMETERS, responses=page_of(io.NodeSerializer)
    )
    def get(self, request: Request) -> Response:
        """Every node, revoked ones too."""
        now = timezone.now()
        rows, following = Cursor(sorts=("created_at", "hostname", "rack")).page(nodes.nodes(), request.query_params)
        views = [nodes.view_of(row, now=now) for row in rows]
        return Response({"items": io.NodeSerializer(views, many=True).data, "next": following})


class _NodeDoor(DomainView):
    """Answers each change with the node as it is after it."""

    permission_classes = [IsOperator, scope("node")]

    def shown(self, node_id: UUID) -> Response:
        return Response(io.NodeSerializer(nodes.get_node(node_id=node_id, now=timezone.now())).data)

    def who(self, request: Request) -> dict[str, Any]:
        return {"actor": self.principal(request).name, "now": timezone.now()}


class NodeView(_NodeDoor):
    @extend_schema(operation_id="get_node", tags=["nodes"], responses=io.NodeSerializer)
    def get(self, request: Request, node: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One node."""
        return self.shown(path_id("nod", node))

    @extend_schema(operation_id="update_node", tags=["nodes"], request=io.NodePatchIn, responses=io.NodeSerializer)
    def patch(self, request: Request, node: str) -> Response:
        """Say where it stands, in which pool it is, and whether it stands by for what others lose. Safe to repeat."""
        node_id, asked = path_id("nod", node), self.parsed(request, io.NodePatchIn)
        standby.update_node(node_id=node_id, changes=asked, **self.who(request))
        return self.shown(node_id)


class RevokeNodeView(_NodeDoor):
    @extend_schema(operation_id="revoke_node", tags=["nodes"], request=io.ReasonIn, responses=io.NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """Void the node's keys, fence its leases and close its connection. Safe to repeat."""
        node_id, asked = path_id("nod", node), self.parsed(request, io.ReasonIn)
        enrol.revoke(node_id=node_id, reason=asked["reason"], **self.who(request))
        return self.shown(node_id)


class CordonNodeView(_NodeDoor):
    @extend_schema(operation_id="cordon_node", tags=["nodes"], request=io.CordonIn, responses=io.NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """Nothing new is booked on it, for whatever period; what is booked goes on. Safe to repeat."""
        node_id, asked = path_id("nod", node), self.parsed(request, io.CordonIn)
        cordon.cordon(node_id=node_id, reason=asked["reason"], **self.who(request))
        return self.shown(node_id)


class UncordonNodeView(_NodeDoor):
    @extend_schema(operation_id="uncordon_node", tags=["nodes"], request=None, responses=io.NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """Let new leases in again; 409 `node_is_draining` during a drain. Safe to repeat."""
        node_id = path_id("nod", node)
        cordon.uncordon(node_id=node_id, **self.who(request))
        return self.shown(node_id)


class NodeImpactView(DomainView):
    permission_classes = [IsOperator, scope("node:read")]

    @extend_schema(operation_id="get_node_impact", tags=["nodes"], parameters=AT, responses=io.ImpactSerializer)
    def get(self, request: Request, node: str) -> Response:
        """What a drain would touch: leases that reach beyond its beginning, and why some that run would stay."""
        node_id, asked, now = path_id("nod", node), self.parsed_query(request, io.ImpactQuery), timezone.now()
        nodes.get_node(node_id=node_id, now=now)
        found = drain_impact.foresee_drain(node_id=node_id, at=asked["at"] or now, now=now)
        return Response(io.ImpactSerializer(found, context={"stays": found.stays}).data)


class DrainNodeView(_NodeDoor):
    @extend_schema(operation_id="drain_node", tags=["nodes"], request=io.DrainIn, responses=io.NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """Cordon it and begin a maintenance, now or at a time: leases that are booked run to their end. Safe to repeat.

        With `move` those that can go elsewhere are moved (see move-plans); an undrain calls off what has not switched.
        It is `drained` once no lease is left. A drain that has begun keeps its start and its reason.
        """
        node_id, asked = path_id("nod", node), self.parsed(request, io.DrainIn)
        drain_node.drain(
            node_id=node_id, reason=asked["reason"], at=asked["at"], move=asked.get("move", False), **self.who(request)
        )
        return self.shown(node_id)


class UndrainNodeView(_NodeDoor):
    @extend_schema(operation_id="undrain_node", tags=["nodes"], request=None, responses=io.NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """Put it back: the maintenance and the cordon end; a drain that is to come is called off. Safe to repeat."""
        node_id = path_id("nod", node)
        drain_node.undrain(node_id=node_id, **self.who(request))
        return self.shown(node_id)


class NodeEventsView(DomainView):
    permission_classes = [IsOperator, scope("node:read")]

    @extend_schema(
        operation_id="list_node_events",
        tags=["nodes"],
        parameters=PARAMETERS,
        responses=page_of(io.NodeEventSerializer),
    )
    def get(self, request: Request, node: str) -> Response:
        """What happened to the node, by whom and why; newest first."""
        node_id = path_id("nod", node)
        nodes.get_node(node_id=node_id, now=timezone.now())
        rows, following = Cursor().page(nodes.node_events().filter(node_id=node_id), request.query_params)
        views = [nodes.event_view_of(row) for row in rows]
        return Response({"items": io.NodeEventSerializer(views, many=True).data, "next": following})
