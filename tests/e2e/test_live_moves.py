"""A running lease goes from one real agent to another, whoever dies meanwhile; nothing else of it changes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.demo.cast import Tenant
from config.demo.numbers import WINDOW_S
from config.demo.rest import Api
from config.demo.stage import iso, wait_until
from config.programs import AgentHome
from config.stack import Stack
from tests.e2e import fire
from tests.e2e.moving import OTHER, SHARE, Trip, seconds, shelf
from tests.e2e.test_under_fire import starts_of
from tests.soak import SayFigures

pytestmark = [pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(400)]
# What the tenant agreed to; nothing of it is any different after a move.
KEPT = ("id", "state", "slice", "price", "price_terms", "amount_per_hour", "starts_at", "ends_at", "quote")
STATES = ("preparing", "ready", "hooking", "switched")


@pytest.fixture(scope="module")
def nodes(stack: Stack, operator: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AgentHome]]:
    """The stack's own agent, and another one that sells the fifth that it leaves; by node."""
    machine: Path = tmp_path_factory.mktemp("machine") / "id"
    machine.write_text("another machine")
    own = operator.rows("devices")[0]["node"]
    home = stack.add_agent(OTHER, extra={"VXPU_MACHINE_ID_FILE": str(machine), "VXPU_HOST_RESERVE_PERMILLE": "800"})
    (other,) = {device["node"] for device in operator.rows("devices")} - {own}
    yield {own: stack.layout.agent(), other: home}
    operator.post(f"nodes/{other}/revoke", {"reason": "the test is over"})
    stack.take_down(OTHER)


@pytest.fixture
def trip(stack: Stack, operator: Api, tenant: Tenant, nodes: dict[str, AgentHome]) -> Iterator[Trip]:
    with shelf() as kept:
        trip = Trip(stack, operator, tenant, kept, nodes)
        trip.begin()
        try:
            yield trip
        finally:
            for node in nodes:
                operator.post(f"nodes/{node}/undrain")
            trip.end()


def order_move(trip: Trip) -> dict[str, Any]:
    """By hand, to the other node's device; the row as it was."""
    before, lease = trip.row, trip.lease
    target = next(one for one in trip.operator.rows("devices") if one["node"] == trip.other(lease["node"]))
    trip.operator.post("move-plans", {"lease": lease["id"], "device": target["id"], "reason": "a fan rattles"})
    return before


def check_arrived(trip: Trip, before: dict[str, Any]) -> dict[str, Any]:
    """Placed exactly once, on the other node, with the work where the hook left it. The move."""
    move = trip.await_move("done")
    assert (move["hook_result"], trip.row["lease"]["id"]) == ("ok", move["successor"])
    assert {name: trip.row[name] for name in KEPT} == {name: before[name] for name in KEPT}
    states = {one["id"]: (one["state"], one["end_reason"]) for one in trip.leases()}
    assert states == {before["lease"]["id"]: ("gone", "moved"), move["successor"]: ("ready", "")}
    _, told = trip.guests[0].finish()
    assert told["first"] == 0 < trip.shelf.saved <= told["last"]
    assert set(fire.left_over(trip.stack, [before["lease"]["id"]])) <= {move["successor"]}
    trip.start_program().process.terminate()
    assert trip.guests[-1].finish()[1]["first"] == trip.shelf.saved
    check_metered(trip, move)
    return move


def check_metered(trip: Trip, move: dict[str, Any]) -> None:
    """Without a hole up to the old slice's end and from the new one's begin; granted together until the switch only as
    far as each was there, and charged a second once."""
    for lease in (move["lease"], move["successor"]):
        usage = wait_until(lambda name=lease: dict(trip.tenant.member.get(f"leases/{name}/usage")),  # type: ignore[misc]
                           lambda seen: seen["windows_counted"] and not seen["seqs_missing"],
                           what="windows arrive", timeout_s=30)  # fmt: skip
        steps = {after - before for before, after in itertools.pairwise(starts_of(usage))}
        assert steps <= {WINDOW_S}
        assert usage["windows_counted"] == len(set(starts_of(usage)))


def check_charged(trip: Trip, move: dict[str, Any], *, since: float) -> None:
    """Both devices add up, and what they charged is the share times the seconds from the first ready to the end."""
    trip.end()
    old, new = (trip.tenant.member.get(f"leases/{one}") for one in (move["lease"], move["successor"]))
    switched = seconds(move["switched_at"])
    for lease, delivered in ((old, switched - seconds(old["ready_at"])), (new, seconds(new["ended_at"]) - switched)):
        books = fire.await_books(trip.operator, {"id": lease["device"]}, {"valid_from": iso(int(since))})
        assert abs(books["charged"] - SHARE * delivered) <= 2 * SHARE, books


def test_a_drain_moves_a_running_program_and_the_bill_has_no_gap(trip: Trip, operator: Api) -> None:
    before, node = trip.row, trip.lease["node"]
    operator.post(f"nodes/{node}/drain", {"reason": "fans", "move": True})
    move = check_arrived(trip, before)
    state = wait_until(lambda: operator.get(f"nodes/{node}")["drain"]["state"], lambda one: one == "drained",
                       what="the node is empty", timeout_s=20)  # fmt: skip
    assert state == "drained"
    check_charged(trip, move, since=seconds(before["starts_at"]))


def kill(trip: Trip, who: str, node: str) -> None:
    name = {"old": trip.home(node).name, "new": trip.home(trip.other(node)).name}.get(who, who)
    trip.stack.kill9(name)


def test_both_agents_and_the_worker_killed_in_the_middle_of_one_move_and_it_is_placed_once(trip: Trip) -> None:
    trip.shelf.slow_s = 1.5  # the hook is at work for so long
    node = trip.lease["node"]
    before = order_move(trip)
    trip.await_move(*STATES)
    for who in ("new", "worker"):
        kill(trip, who, node)
    trip.await_move("hooking", "switched")
    kill(trip, "old", node)
    check_arrived(trip, before)


@pytest.mark.soak
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("who", ["old", "new", "worker", "web", "postgres", "valkey"])
def test_whoever_dies_at_whichever_step(trip: Trip, who: str, state: str, say_figures: SayFigures) -> None:
    trip.shelf.slow_s = 1.5
    node = trip.lease["node"]
    before, began = order_move(trip), time.monotonic()
    seen = trip.await_move(*STATES[STATES.index(state) :], "done")["state"]  # whoever looks may be late
    kill(trip, who, node)
    check_arrived(trip, before)
    say_figures(who=who, state=seen, took_s=round(time.monotonic() - began), placed=1)
