"""Doors of pools, sites and topologies: they are the operator's."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.api.node_io import NodeSerializer
from allocator.models import Site
from allocator.selectors import nodes
from allocator.selectors import pools as rows
from allocator.services import pools
from plumbing.api.fields import StrictSerializer
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView

NAME = rf"^{pools.NAME}$"


class _Limits(StrictSerializer):
    """What is left out stays, or is the server's setting; so is null."""

    room_moves = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=64,
        help_text="At most so many moves of running leases to make room for one wish; 0 is none.",
    )  # fmt: skip
    moves_per_tenant_day = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=1000,
        help_text="So often in 24 hours a tenant's leases in the pool may be moved for others; 0 is never.",
    )  # fmt: skip


class PoolIn(_Limits):
    name = serializers.RegexField(NAME)
    policy = serializers.CharField(max_length=32, help_text="How its nodes are filled.")
    may_override = serializers.BooleanField(required=False, default=False, help_text="A wish may name another policy.")
    description = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)


class PoolPatchIn(_Limits):
    policy = serializers.CharField(max_length=32, required=False)
    may_override = serializers.BooleanField(required=False)
    description = serializers.CharField(max_length=200, required=False, allow_blank=True)


class PoolSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    policy = serializers.CharField()
    may_override = serializers.BooleanField()
    room_moves = serializers.IntegerField(allow_null=True)
    moves_per_tenant_day = serializers.IntegerField(allow_null=True)
    description = serializers.CharField()
    node_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class SitePatchIn(StrictSerializer):
    pue_permille = serializers.IntegerField(
        required=False, allow_null=True, max_value=100_000, help_text="Power of the building for 1000 of its machines."
    )
    carbon_g_per_kwh = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=100_000)
    latency_ms = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=pools.MAX_LATENCY_MS),
        required=False,
        help_text="Round trip to other sites, by name.",
    )


class SiteIn(SitePatchIn):
    name = serializers.RegexField(NAME)


class SiteSerializer(serializers.Serializer[Any]):
    """Null is "not known"."""

    name = serializers.CharField()
    pue_permille = serializers.IntegerField(allow_null=True)
    carbon_g_per_kwh = serializers.IntegerField(allow_null=True)
    latency_ms = serializers.DictField(child=serializers.IntegerField())
    has_topology = serializers.SerializerMethodField()
    node_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()

    def get_has_topology(self, site: Site) -> bool:
        return site.topology is not None


class TopologyIn(StrictSerializer):
    """`nodes`: host name -> {"links": [{"between": [key, key], "nvlinks": 4, "pcie": "switch"}], "switch": {key: 18}};
    every pair of a node's devices is told once. Null forgets the topology: what the agents read counts again."""

    nodes = serializers.DictField(child=serializers.JSONField(), allow_null=True)


class _Door(DomainView):
    permission_classes = [IsOperator, scope("node")]

    def pool(self, name: str, *, status: int = 200) -> Response:
        return Response(PoolSerializer(rows.get_pool(name=name)).data, status=status)

    def site(self, name: str, *, status: int = 200) -> Response:
        return Response(SiteSerializer(rows.get_site(name=name)).data, status=status)


class PoolsView(_Door):
    @extend_schema(operation_id="list_pools", tags=["pools"], parameters=PARAMETERS, responses=page_of(PoolSerializer))
    def get(self, request: Request) -> Response:
        """How nodes are grouped, and each group filled. Nodes without a pool follow the server's settings."""
        found, following = Cursor(sorts=("created_at", "name")).page(rows.pools(), request.query_params)
        return Response({"items": PoolSerializer(found, many=True).data, "next": following})

    @extend_schema(operation_id="create_pool", tags=["pools"], request=PoolIn, responses={201: PoolSerializer})
    def post(self, request: Request) -> Response:
        """409 `name_taken`; 422 for a policy that there is not."""
        made = pools.make_pool(**self.parsed(request, PoolIn), now=timezone.now())
        return self.pool(made.name, status=201)


class PoolView(_Door):
    @extend_schema(operation_id="get_pool", tags=["pools"], responses=PoolSerializer)
    def get(self, request: Request, name: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One pool."""
        return self.pool(name)

    @extend_schema(operation_id="update_pool", tags=["pools"], request=PoolPatchIn, responses=PoolSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """New bookings follow at once; what is booked stays where it is."""
        pools.change_pool(name=name, changes=self.parsed(request, PoolPatchIn))
        return self.pool(name)

    @extend_schema(operation_id="delete_pool", tags=["pools"], request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:  # noqa: ARG002 - DRF's signature
        """409 `still_used` while nodes are in it."""
        pools.drop_pool(name=name)
        return Response(status=204)


class SitesView(_Door):
    @extend_schema(operation_id="list_sites", tags=["pools"], parameters=PARAMETERS, responses=page_of(SiteSerializer))
    def get(self, request: Request) -> Response:
        """Where nodes stand: power, carbon and the way to other sites."""
        found, following = Cursor(sorts=("created_at", "name")).page(rows.sites(), request.query_params)
        return Response({"items": SiteSerializer(found, many=True).data, "next": following})

    @extend_schema(operation_id="create_site", tags=["pools"], request=SiteIn, responses={201: SiteSerializer})
    def post(self, request: Request) -> Response:
        """409 `name_taken`."""
        made = pools.make_site(**self.parsed(request, SiteIn), now=timezone.now())
        return self.site(made.name, status=201)


class SiteView(_Door):
    @extend_schema(operation_id="get_site", tags=["pools"], responses=SiteSerializer)
    def get(self, request: Request, name: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One site."""
        return self.site(name)

    @extend_schema(operation_id="update_site", tags=["pools"], request=SitePatchIn, responses=SiteSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """What is left out stays."""
        pools.change_site(name=name, changes=self.parsed(request, SitePatchIn))
        return self.site(name)

    @extend_schema(operation_id="delete_site", tags=["pools"], request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:  # noqa: ARG002 - DRF's signature
        """409 `still_used` while nodes stand there."""
        pools.drop_site(name=name)
        return Response(status=204)


class SiteTopologyView(_Door):
    @extend_schema(operation_id="set_site_topology", tags=["pools"], request=TopologyIn, responses=SiteSerializer)
    def put(self, request: Request, name: str) -> Response:
        """How the devices of the site's nodes are linked; 422 `bad_topology` lists every entry that is wrong."""
        pools.set_site_topology(name=name, document=_document(self.parsed(request, TopologyIn)))
        return self.site(name)


class NodeTopologyView(_Door):
    @extend_schema(operation_id="set_node_topology", tags=["nodes"], request=TopologyIn, responses=NodeSerializer)
    def put(self, request: Request, node: str) -> Response:
        """How this node's devices are linked: it goes before the site's document and what the agent reads."""
        node_id, now = path_id("nod", node), timezone.now()
        pools.set_node_topology(
            node_id=node_id, document=_document(self.parsed(request, TopologyIn)),
            actor=self.principal(request).name, now=now,
        )  # fmt: skip
        return Response(NodeSerializer(nodes.get_node(node_id=node_id, now=now)).data)


def _document(asked: dict[str, Any]) -> dict[str, Any] | None:
    return None if asked["nodes"] is None else {"nodes": asked["nodes"]}
