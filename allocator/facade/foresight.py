"""Forecasts of demand, and the past replayed under other rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from allocator.facade.scope import whole_fleet
from allocator.services import foresee, simulate
from vxpu.foresight import DemandView, PastWish, SimulationView, TrialSpec


@whole_fleet
def forecast_demand(*, now: datetime, hours: int = 24, risk_permille: int = 50) -> list[DemandView]:
    """Leased compute of each pool and kind of device in the hours ahead, by the model that back-tests chose."""
    return foresee.forecast_demand(now=now, hours=hours, risk_permille=risk_permille)


@whole_fleet
def begin_simulation(
    *, from_at: datetime, to_at: datetime, trials: Sequence[TrialSpec], known: Sequence[PastWish], actor: str,
    now: datetime,
) -> SimulationView:  # fmt: skip
    """Its own transaction. Raises BadSimulation, TooManySimulations, Invalid."""
    return simulate.view_of(
        simulate.begin(from_at=from_at, to_at=to_at, trials=trials, known=known, actor=actor, now=now)
    )


@whole_fleet
def cancel_simulation(*, simulation_id: UUID, now: datetime) -> SimulationView:
    """Its own transaction. Raises NotFound."""
    return simulate.view_of(simulate.cancel(simulation_id=simulation_id, now=now))


@whole_fleet
def get_simulation(*, simulation_id: UUID) -> SimulationView:
    """Raises NotFound."""
    return simulate.view_of(simulate.get(simulation_id=simulation_id))


@whole_fleet
def list_simulations(*, limit: int) -> list[SimulationView]:
    """Newest first."""
    return [simulate.view_of(row) for row in simulate.list_newest(limit=limit)]
