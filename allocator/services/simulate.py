"""Past requests replayed under other policies and fleets: asked for, run trial by trial, called off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now

from allocator.engine.fleet import Card, Fleet, Machine
from allocator.engine.replay import Outcome, Stopped, Trial, edited, replay
from allocator.errors import BadSimulation, TooManySimulations
from allocator.events import SimulationAsked
from allocator.models import Simulation
from allocator.models.simulation import OPEN, SimulationState
from allocator.services._past import asked_in, request_of
from allocator.services._policies import UNNAMED, read_rules
from allocator.services._snapshot import read_fleet, to_instant
from plumbing import db, outbox
from plumbing.errors import NotFound
from vxpu.foresight import PastWish, SimulationView, TrialSpec, TrialView
from vxpu.ids import new_uuid

S = SimulationState
TODAY = TrialSpec()
MOST_TRIALS = 8
MOST_REQUESTS = 50_000
MOST_ADDED = 2_000
LONGEST = timedelta(days=31)
# Open ones at a time: each takes a worker for a while.
MOST_OPEN = 4
# A worker that showed no progress for so long is dead.
SILENT = timedelta(minutes=2)


@db.transaction
def begin(
    *, from_at: datetime, to_at: datetime, trials: Sequence[TrialSpec], known: Sequence[PastWish], actor: str,
    now: datetime,
) -> Simulation:  # fmt: skip
    """The first trial is always today's fleet and policy. Raises BadSimulation, TooManySimulations.

    `known` are requests that the shop knows better than the leases do: those that never got one, and what they waited.
    """
    if not from_at < to_at <= now or to_at - from_at > LONGEST:
        raise BadSimulation("The period must be past, and at most 31 days.", suggestion="Take the last seven days.")
    if len(trials) > MOST_TRIALS:
        raise BadSimulation(f"{len(trials)} trials; at most {MOST_TRIALS}.", suggestion="Ask twice.")
    fleet = read_fleet(from_at=now, now=now)
    for number, trial in enumerate(trials):
        _check(trial, fleet, number)
    if Simulation.objects.filter(state__in=OPEN).count() >= MOST_OPEN:
        raise TooManySimulations(suggestion="Wait until one is done, or cancel one.")
    requests = asked_in(from_at=from_at, to_at=to_at, known=known, now=now)
    if not requests:
        raise BadSimulation("Nothing was asked for in that period.", suggestion="Take an earlier or a longer one.")
    if len(requests) > MOST_REQUESTS:
        raise BadSimulation(f"{len(requests)} requests; at most {MOST_REQUESTS}.", suggestion="Take a shorter period.")
    operator = settings.VXPU_OPERATOR_TENANT
    simulation = Simulation.objects.create(
        tenant_id=operator, created_at=now, started_by=actor[:80], from_at=from_at, to_at=to_at, requests=requests,
        trials=[plain(trial) for trial in (TODAY, *trials)],
    )  # fmt: skip
    outbox.publish(SimulationAsked(tenant_id=operator, simulation_id=simulation.pk, at=now))
    return simulation


@db.transaction
def cancel(*, simulation_id: UUID, now: datetime) -> Simulation:
    """Safe to repeat; one that has ended stays as it is. The worker stops at its next sign of progress."""
    open_one = Simulation.objects.filter(pk=simulation_id, state__in=OPEN)
    open_one.update(state=S.CANCELLED, ended_at=now, version=F("version") + 1)
    return get(simulation_id=simulation_id)


def get(*, simulation_id: UUID) -> Simulation:
    """Raises NotFound."""
    try:
        return Simulation.objects.get(pk=simulation_id)
    except Simulation.DoesNotExist as error:
        raise NotFound(f"There is no simulation {simulation_id}.") from error


def list_newest(*, limit: int) -> list[Simulation]:
    """Newest first, without their requests."""
    return list(Simulation.objects.defer("requests").order_by("-created_at", "-pk")[:limit])


def view_of(row: Simulation) -> SimulationView:
    outcomes = [*row.outcomes, *[None] * (len(row.trials) - len(row.outcomes))]
    return SimulationView(
        id=row.pk, state=row.state, from_at=row.from_at, to_at=row.to_at, started_by=row.started_by,
        created_at=row.created_at, ended_at=row.ended_at, progress_permille=row.progress_permille, error=row.error,
        trials=tuple(
            TrialView(spec=spec_of(trial), outcome=outcome)
            for trial, outcome in zip(row.trials, outcomes, strict=True)
        ),
    )  # fmt: skip


def run_next(*, now: datetime) -> UUID | None:
    """Run one trial of the oldest simulation that nobody works on, and say which; None if there is nothing to do.

    One trial at a time, so that a worker is free in between. Others wait; a dead worker's trial is run again.
    """
    idle = Q(state=S.QUEUED) | Q(state=S.RUNNING, seen_at=None) | Q(state=S.RUNNING, seen_at__lt=now - SILENT)
    simulation = Simulation.objects.filter(idle).order_by("created_at", "pk").first()
    if simulation is None or not _take(simulation, now):
        return None
    try:
        outcome = _run(simulation)
    except Stopped:
        return simulation.pk
    except Exception as error:
        _finish(simulation, {"state": S.FAILED, "ended_at": now, "error": f"{type(error).__name__}: {error}"[:400]})
        raise
    outcomes = [*simulation.outcomes, asdict(outcome)]
    done = len(outcomes) == len(simulation.trials)
    end: dict[str, Any] = {"state": S.DONE, "ended_at": now} if done else {"seen_at": None}
    progress = 1000 * len(outcomes) // len(simulation.trials)
    _finish(simulation, {"outcomes": outcomes, "progress_permille": progress, **end})
    return simulation.pk


def _take(simulation: Simulation, now: datetime) -> bool:
    changed = Simulation.objects.filter(pk=simulation.pk, state=simulation.state, version=simulation.version).update(
        state=S.RUNNING, seen_at=now, version=simulation.version + 1
    )
    simulation.version += 1
    return bool(changed)


def _finish(simulation: Simulation, values: dict[str, Any]) -> None:
    """Unless it was called off, or given to another worker, meanwhile."""
    Simulation.objects.filter(pk=simulation.pk, state=S.RUNNING, version=simulation.version).update(
        version=simulation.version + 1, **values
    )


def _run(simulation: Simulation) -> Outcome:
    """The next trial. Raises Stopped when it was called off."""
    trials, number = simulation.trials, len(simulation.outcomes)
    spec = spec_of(trials[number])
    now = simulation.created_at
    fleet = _fleet(read_fleet(from_at=now, now=now), spec)
    trial = Trial(
        policy=read_rules().pools[UNNAMED].policy_for(spec.policy), whole_cards=spec.whole_cards, moves=spec.moves
    )

    def go_on(done: int, total: int) -> bool:
        share = (1000 * number + 1000 * done // max(1, total)) // len(trials)
        mine = Simulation.objects.filter(pk=simulation.pk, state=S.RUNNING, version=simulation.version)
        return bool(mine.update(progress_permille=share, seen_at=Now()))

    requests = [request_of(plain_request) for plain_request in simulation.requests]
    return replay(fleet, requests, trial, ends=to_instant(simulation.to_at), go_on=go_on)


def _check(trial: TrialSpec, fleet: Fleet, number: int) -> None:
    """Raises BadSimulation, or Invalid for a policy that there is not."""
    read_rules().pools[UNNAMED].policy_for(trial.policy)
    nodes = {machine.node_id for machine in fleet.machines}
    unknown = [node for node in (*trial.remove_nodes, *(like for like, _ in trial.add_nodes)) if node not in nodes]
    if unknown:
        raise BadSimulation(
            f"Trial {number}: {len(unknown)} of its nodes have no device in the fleet.", suggestion="Name active nodes."
        )
    if not 0 <= trial.moves <= 64 or not 0 <= _added(trial) <= MOST_ADDED:
        raise BadSimulation(
            f"Trial {number}: at most 64 moves, and {MOST_ADDED} nodes more, each kind with at least one.",
            suggestion="Take fewer.",
        )
    if nodes <= set(trial.remove_nodes) and not trial.add_nodes:
        raise BadSimulation(f"Trial {number} has no node left.", suggestion="Keep one.")


def _added(trial: TrialSpec) -> int:
    """How many nodes more; -1 for a count that is none."""
    counts = [count for _, count in trial.add_nodes]
    return -1 if min(counts, default=1) < 1 else sum(counts)


def _fleet(fleet: Fleet, spec: TrialSpec) -> Fleet:
    machines = {machine.node_id: machine for machine in fleet.machines}
    more: list[tuple[Machine, list[Card]]] = []
    for like, count in spec.add_nodes:
        cards = [card for card in fleet.cards if card.node_id == like]
        for _ in range(count):
            machine = replace(machines[like], node_id=new_uuid(), taken=())
            node_id = machine.node_id
            copies = [replace(card, device_id=new_uuid(), node_id=node_id, taken=(), closed=()) for card in cards]
            more.append((machine, copies))
    return edited(fleet, add=more, remove=spec.remove_nodes)


def plain(spec: TrialSpec) -> dict[str, Any]:
    """JSON types only."""
    return {
        "policy": spec.policy, "whole_cards": spec.whole_cards, "moves": spec.moves,
        "remove_nodes": [str(node) for node in spec.remove_nodes],
        "add_nodes": [[str(like), count] for like, count in spec.add_nodes],
    }  # fmt: skip


def spec_of(values: dict[str, Any]) -> TrialSpec:
    """The reverse of `plain`."""
    return TrialSpec(
        policy=values["policy"], whole_cards=values["whole_cards"], moves=values["moves"],
        remove_nodes=tuple(UUID(node) for node in values["remove_nodes"]),
        add_nodes=tuple((UUID(like), int(count)) for like, count in values["add_nodes"]),
    )  # fmt: skip
