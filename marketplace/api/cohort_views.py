"""Doors of the quota tree's cohorts (operator)."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import inputs
from marketplace.api import serializers as out
from marketplace.api.permissions import actor_of
from marketplace.selectors import tree
from marketplace.services import cohorts
from marketplace.services.show_tree import show_cohorts
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView


class CohortsView(DomainView):
    permission_classes = [IsOperator, scope("reservation")]

    @extend_schema(operation_id="list_cohorts", tags=["quotas"], parameters=PARAMETERS,
                   responses=page_of(out.CohortSerializer))  # fmt: skip
    def get(self, request: Request) -> Response:
        """The inner nodes of the quota tree, by name, with what is held now (operator)."""
        cursor = Cursor(sorts=("name", "created_at"), default="name")
        rows, following = cursor.page(tree.list_cohorts(), request.query_params)
        shown = show_cohorts(rows, now=timezone.now())
        return Response({"items": out.CohortSerializer(shown, many=True).data, "next": following})

    @extend_schema(operation_id="create_cohort", tags=["quotas"], request=inputs.CohortIn,
                   responses={201: out.CohortSerializer})  # fmt: skip
    def post(self, request: Request) -> Response:
        """Tenants and cohorts below it may use each other's idle quota (operator)."""
        asked, now = self.parsed(request, inputs.CohortIn), timezone.now()
        made = cohorts.create_cohort(now=now, actor=actor_of(self.principal(request)), **asked)
        return Response(out.CohortSerializer(show_cohorts([made], now=now)[0]).data, status=201)


class CohortView(DomainView):
    permission_classes = [IsOperator, scope("reservation")]

    @extend_schema(operation_id="change_cohort", tags=["quotas"], request=inputs.CohortChangeIn,
                   responses=out.CohortSerializer)  # fmt: skip
    def patch(self, request: Request, cohort: str) -> Response:
        """Change what is given; what is held already stays (operator)."""
        asked, now = self.parsed(request, inputs.CohortChangeIn), timezone.now()
        made = cohorts.set_cohort(
            cohort_id=path_id("coh", cohort), now=now, actor=actor_of(self.principal(request)), **asked
        )
        return Response(out.CohortSerializer(show_cohorts([made], now=now)[0]).data)

    @extend_schema(operation_id="delete_cohort", tags=["quotas"], responses={204: None})
    def delete(self, request: Request, cohort: str) -> Response:
        """An empty one; 409 `cohort_in_use` while tenants or cohorts are in it (operator)."""
        actor = actor_of(self.principal(request))
        cohorts.delete_cohort(cohort_id=path_id("coh", cohort), now=timezone.now(), actor=actor)
        return Response(status=204)
