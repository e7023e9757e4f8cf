"""Doors of the forecast and of simulations: they are the operator's."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.facade import foresight
from marketplace.api import foresight_io as io
from marketplace.api.permissions import actor_of
from marketplace.services.simulate_past import simulate_past
from plumbing.api.ids import path_id
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView

WEEK = timedelta(days=7)
NEWEST = 50


class ForecastView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(operation_id="get_forecast", tags=["fleet"], parameters=[io.ForecastQuery],
                   responses=io.ForecastSerializer)  # fmt: skip
    def get(self, request: Request) -> Response:
        """Leased compute in the hours ahead, of each pool and kind of device (operator)."""
        asked = self.parsed_query(request, io.ForecastQuery)
        return Response(io.ForecastSerializer({"items": foresight.forecast_demand(now=timezone.now(), **asked)}).data)


class SimulationsView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(operation_id="list_simulations", tags=["fleet"], responses=io.SimulationsSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        """The newest 50 (operator)."""
        return Response(io.SimulationsSerializer({"items": foresight.list_simulations(limit=NEWEST)}).data)

    @extend_schema(operation_id="create_simulation", tags=["fleet"], request=io.SimulationIn,
                   responses={202: io.SimulationSerializer})  # fmt: skip
    def post(self, request: Request) -> Response:
        """Replay past requests under today's policy and fleet, and under others; poll it (operator).

        400 `bad_simulation`, 409 `too_many_simulations`.
        """
        asked, now = self.parsed(request, io.SimulationIn), timezone.now()
        to_at = asked["to"] or now
        made = simulate_past(
            from_at=asked["from"] or to_at - WEEK, to_at=to_at, trials=[io.spec_of(one) for one in asked["trials"]],
            actor=actor_of(self.principal(request)), now=now,
        )  # fmt: skip
        return Response(io.SimulationSerializer(made).data, status=202)


class SimulationView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(operation_id="get_simulation", tags=["fleet"], responses=io.SimulationSerializer)
    def get(self, request: Request, simulation: str) -> Response:  # noqa: ARG002 - DRF's signature
        """State, progress, and the outcome of each trial that is done (operator)."""
        return Response(
            io.SimulationSerializer(foresight.get_simulation(simulation_id=path_id("sim", simulation))).data
        )

    @extend_schema(operation_id="cancel_simulation", tags=["fleet"], responses=io.SimulationSerializer)
    def delete(self, request: Request, simulation: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Call it off; what is done of it stays. Safe to repeat (operator)."""
        found = foresight.cancel_simulation(simulation_id=path_id("sim", simulation), now=timezone.now())
        return Response(io.SimulationSerializer(found).data)
