"""What runs by the clock or on an event. Each loads ids and makes one service call."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from allocator.services import changes, drain_node, hold, partitions, poke, simulate
from allocator.services import consolidate as consolidation
from allocator.services import learn as learning
from allocator.services import run_moves as moving
from allocator.services import start_due as due
from allocator.services import sweep as sweeping
from plumbing.outbox import ONCE, TOGETHER
from plumbing.tasks import task


@task(queue="allocator")
def start_due() -> None:
    """Every second: drain what is over, and poke the nodes for which the clock changed something."""
    poke.poke_all(node_ids=due.start_due(now=timezone.now()))


@task(queue="allocator")
def settle_drains() -> None:
    """Every two seconds: drains that have begun or are done."""
    drain_node.settle(now=timezone.now())


@task(queue="allocator")
def expire_holds() -> None:
    """Every few seconds: tidy up lapsed holds and tell their owners. Bookings do not wait for it."""
    hold.expire_holds(now=timezone.now())


@task(queue="allocator", hears=TOGETHER)
def poke_nodes(*, events: list[dict[str, str]]) -> None:
    """On DesiredChanged: each node once."""
    poke.poke_all(node_ids=[UUID(node_id) for node_id in dict.fromkeys(event["node_id"] for event in events)])


@task(queue="allocator")
def close_node(*, node_id: str, tenant_id: str) -> None:  # noqa: ARG001 - an event's fields
    """On NodeRevoked."""
    poke.close(node_id=UUID(node_id))


@task(queue="allocator")
def prepare_partitions() -> None:
    """Every hour: partitions for the days to come."""
    partitions.ensure_ahead(now=timezone.now())


@task(queue="allocator")
def sweep() -> None:
    """Every hour: violations are logged as errors."""
    sweeping.sweep()


@task(queue="allocator", hears=ONCE)
def run_moves() -> None:
    """Every second, and when a move has ended: plans of moves, as far as they go now."""
    moving.run(now=timezone.now())


@task(queue="allocator")
def consolidate() -> None:
    """Every five minutes: in quiet hours, if the operator wants it, moves after which nodes are empty."""
    consolidation.consolidate(now=timezone.now())


@task(queue="default", hears=ONCE)
def run_simulations() -> None:
    """Every few seconds, and when one is asked for: the next trial of a simulation. Not on the allocator's queue."""
    simulate.run_next(now=timezone.now())


@task(queue="allocator")
def learn() -> None:
    """Every hour: what the default policy knows of usual wishes."""
    learning.learn(now=timezone.now())


@task(queue="allocator")
def forget_changes() -> None:
    """Every ten minutes: changes that every picture has seen, or will never ask for."""
    changes.forget_old(now=timezone.now())
