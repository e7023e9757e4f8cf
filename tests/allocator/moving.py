"""Nodes that do what they are told while leases move, and the clock that lets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from allocator import facade
from allocator.models import Lease
from allocator.services import run_moves
from plumbing import db
from tests.allocator.factories import Node, at, make_report
from vxpu.ids import encode
from vxpu.market import LeaseView
from vxpu.states import LeaseState
from vxpu.wire.node import HookDone


def obey(nodes: list[Node], *, seconds: float) -> None:
    """Every node does what it is told, answers its hooks, and says so."""
    for node in nodes:
        told = node.sync(now=at(seconds), leases=reports_of(node)).leases
        done = [one.lease_id for one in told if one.wanted == "gone"]
        answers = {one.lease_id: HookDone(id=one.hook.id, result="ok") for one in told if one.hook is not None}
        said = [
            make_report(
                view, LeaseState.GONE if (name := encode("lse", view.id)) in done else LeaseState.READY,
                hook=answers.get(name),
            )
            for view in views_of(node)
        ]  # fmt: skip
        node.sync(now=at(seconds), leases=said)


def views_of(node: Node) -> list[LeaseView]:
    live = Lease.objects.filter(node_id=node.id, state__in=["assigned", "preparing", "ready", "draining"])
    return [facade.get_lease(lease_id=lease.pk) for lease in live]


def reports_of(node: Node) -> list[Any]:
    return [make_report(view, view.state) for view in views_of(node) if view.state != LeaseState.ASSIGNED]


@db.transaction
def switch(move_id: UUID, *, seconds: float) -> None:
    facade.switch_move(move_id=move_id, now=at(seconds))


def tick(nodes: list[Node], *, seconds: float) -> None:
    """All that runs by the clock, and the shop's part without a shop."""
    run_moves.run(now=at(seconds))
    obey(nodes, seconds=seconds)
    for move in facade.list_moves_to_switch():
        switch(move.id, seconds=seconds)


def let_run(nodes: list[Node], *, until: Callable[[], bool], seconds: int = 2) -> None:
    """For a minute at most."""
    for now in range(seconds, seconds + 60):
        tick(nodes, seconds=now)
        if until():
            return
    raise AssertionError("it did not come to that in a minute")
