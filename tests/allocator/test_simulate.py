"""Past leases replayed: what was read of them, trial by trial, called off, and taken over from a dead worker."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from allocator.engine.replay import Stopped
from allocator.errors import BadSimulation, TooManySimulations
from allocator.models import Simulation
from allocator.models.simulation import ALLOWED
from allocator.services import foresee, simulate
from plumbing.errors import Invalid, NotFound
from tests.allocator.factories import HOUR, NOON, Node, at, book, make_wish, release
from vxpu.foresight import TrialSpec
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")

LATER = NOON + 4 * HOUR


@pytest.fixture
def node(system: None) -> Node:
    return Node()


def lease_for(node: Node, hours: float = 1, **over: Any) -> None:
    lease = book(make_wish(**over))
    node.start(lease, now=at(1))
    release(lease.id, now=NOON + hours * HOUR)


def begin(*trials: TrialSpec, **over: Any) -> Simulation:
    wanted: dict[str, Any] = {
        "from_at": NOON - HOUR, "to_at": NOON + 3 * HOUR, "known": [], "actor": "user:test", "now": LATER, **over,
    }  # fmt: skip
    return simulate.begin(trials=trials, **wanted)


def outcomes(simulation: Simulation) -> list[dict[str, Any]]:
    """Of every trial, run one after the other."""
    for _ in simulation.trials:
        assert simulate.run_next(now=LATER) == simulation.pk
    simulation.refresh_from_db()
    assert (simulation.state, simulation.progress_permille) == ("done", 1000)
    return list(simulation.outcomes)


def test_slices_against_whole_cards_on_another_fleet(node: Node) -> None:
    for _ in range(3):
        lease_for(node, hours=2)
    more = TrialSpec(whole_cards=True, add_nodes=((node.id, 2),))
    today, whole, three = outcomes(begin(TrialSpec(whole_cards=True), more))
    assert (today["requests"], today["placed"], today["used"], today["taken"]) == (3, 3, 500, 500)
    # Measured from the first arrival on: taken for two of three hours.
    assert (whole["placed"], whole["refused"], whole["used"], whole["taken"]) == (1, {"full": 2}, 166, 666)
    assert (three["placed"], three["used"], three["taken"]) == (3, 166, 666)


def test_what_is_not_possible_is_a_bad_simulation(node: Node) -> None:
    with pytest.raises(BadSimulation, match="Nothing was asked"):
        begin()
    lease_for(node)
    for trial in (TrialSpec(remove_nodes=(node.id,)), TrialSpec(add_nodes=((node.id, 0),)), TrialSpec(moves=65),
                  TrialSpec(remove_nodes=(new_uuid(),))):  # fmt: skip
        with pytest.raises(BadSimulation):
            begin(trial)
    with pytest.raises(Invalid, match="no policy"):
        begin(TrialSpec(policy="luck"))
    for period in ({"to_at": LATER + HOUR}, {"from_at": LATER}, {"from_at": NOON - timedelta(days=40)}):
        with pytest.raises(BadSimulation, match="past"):
            begin(**period)
    for _ in range(simulate.MOST_OPEN):
        begin()
    with pytest.raises(TooManySimulations):
        begin()


def test_called_off_it_stops_at_its_next_sign_of_progress(node: Node) -> None:
    lease_for(node)
    simulation = begin(TrialSpec(policy="spread"))
    assert simulate._take(simulation, LATER)
    for _ in range(2):
        assert simulate.cancel(simulation_id=simulation.pk, now=LATER).state == "cancelled"
    with pytest.raises(Stopped):
        simulate._run(simulation)
    assert simulate.run_next(now=LATER) is None
    with pytest.raises(NotFound):
        simulate.cancel(simulation_id=new_uuid(), now=LATER)


def test_a_dead_workers_trial_is_run_again_and_its_late_word_does_not_count(node: Node) -> None:
    lease_for(node)
    simulation = begin()
    assert simulate._take(simulation, LATER)
    assert simulate.run_next(now=LATER) is None
    assert simulate.run_next(now=LATER + simulate.SILENT * 2) == simulation.pk
    simulate._finish(simulation, {"error": "late"})
    simulation.refresh_from_db()
    assert (simulation.state, simulation.error, len(simulation.outcomes)) == ("done", "", 1)


def test_the_database_knows_the_same_moves_as_the_code() -> None:
    with connection.cursor() as cursor:
        for state, nexts in ALLOWED.items():
            cursor.execute("SELECT allocator_simulation_moves(%s)", [str(state)])
            assert set(cursor.fetchone()[0]) == {str(one) for one in nexts}, state


def test_leased_compute_is_foreseen_by_pool_and_kind(node: Node) -> None:
    (nothing,) = foresee.forecast_demand(now=NOON, hours=24, risk_permille=50)
    assert (nothing.is_tested, nothing.values, nothing.spot) == (False, (0,) * 24, (0,) * 24)
    book(make_wish(starts_at=NOON + HOUR / 2))
    days = timedelta(days=12)
    (found,) = foresee.forecast_demand(now=NOON + days, hours=24, risk_permille=0)
    assert (found.pool, found.kind, found.capacity_permille, found.hours) == ("", "cpu", 1000, 12 * 24)
    assert (found.is_tested, found.values[0], found.spot[0]) == (True, 250, 750)
