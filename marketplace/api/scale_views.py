"""Doors of scaling: rules of a reservation, what its work tells, what was decided."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import scale_serializers as io
from marketplace.api.permissions import actor_of, reach_of
from marketplace.selectors.scaling import list_decisions
from marketplace.services import scale_rules
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, page_of
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView

TAGS = ["scaling"]


class _ScaleView(DomainView):
    permission_classes = [scope("reservation")]

    def where(self, request: Request, reservation: str) -> dict[str, Any]:
        return {"reach": reach_of(self.principal(request)), "reservation_id": path_id("rsv", reservation)}

    def who(self, request: Request) -> dict[str, Any]:
        return {"actor": actor_of(self.principal(request)), "now": timezone.now()}


class ScaleRulesView(_ScaleView):
    @extend_schema(
        operation_id="list_scale_rules", tags=TAGS, parameters=PARAMETERS, responses=page_of(io.ScaleRuleSerializer)
    )
    def get(self, request: Request, reservation: str) -> Response:
        """By which it grows and shrinks; the largest size that a rule wants now is taken."""
        return self.page(request, scale_rules.list_rules(**self.where(request, reservation)), io.ScaleRuleSerializer)

    @extend_schema(
        operation_id="create_scale_rule", tags=TAGS, request=io.ScaleRuleIn, responses={201: io.ScaleRuleSerializer}
    )
    def post(self, request: Request, reservation: str) -> Response:
        """By the clock, by the load, or by the progress of the work; within bounds, by live resize."""
        values = self.parsed(request, io.ScaleRuleIn)
        rule = scale_rules.create_rule(**self.where(request, reservation), **self.who(request), values=values)
        return Response(io.ScaleRuleSerializer(rule).data, status=201)


class ScaleRuleView(_ScaleView):
    @extend_schema(
        operation_id="replace_scale_rule", tags=TAGS, request=io.ScaleRuleIn, responses=io.ScaleRuleSerializer
    )
    def put(self, request: Request, reservation: str, rule: str) -> Response:
        """The whole rule, anew."""
        values = self.parsed(request, io.ScaleRuleIn)
        changed = scale_rules.update_rule(
            **self.where(request, reservation), **self.who(request), rule_id=path_id("scr", rule), values=values
        )
        return Response(io.ScaleRuleSerializer(changed).data)

    @extend_schema(operation_id="delete_scale_rule", tags=TAGS, responses={204: None})
    def delete(self, request: Request, reservation: str, rule: str) -> Response:
        """The size stays as it is; what the rule decided stays on record."""
        scale_rules.delete_rule(**self.where(request, reservation), rule_id=path_id("scr", rule))
        return Response(status=204)


class ScaleDecisionsView(_ScaleView):
    @extend_schema(
        operation_id="list_scale_decisions",
        tags=TAGS,
        parameters=PARAMETERS,
        responses=page_of(io.ScaleDecisionSerializer),
    )
    def get(self, request: Request, reservation: str) -> Response:
        """Changes that rules wanted, newest first: applied, or refused and why."""
        return self.page(request, list_decisions(**self.where(request, reservation)), io.ScaleDecisionSerializer)


class SignalsView(_ScaleView):
    @extend_schema(operation_id="send_signals", tags=TAGS, request=io.SignalIn, responses={204: None})
    def post(self, request: Request, reservation: str) -> Response:
        """What the work says: how much waits, how far it is, that it saved its work. The last word counts."""
        told = self.parsed(request, io.SignalIn)
        signals = {name: told[name] for name in ("queue_depth", "epoch") if told[name] is not None}
        scale_rules.tell(
            **self.where(request, reservation), signals=signals, checkpointed=bool(told["checkpointed"]),
            now=timezone.now(),
        )  # fmt: skip
        return Response(status=204)
