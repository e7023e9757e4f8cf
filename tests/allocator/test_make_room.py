"""Room by moves: the fragmented fleet of whole devices, the share that fits nowhere, and nobody who snatches it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from allocator.errors import DoesNotFit, NothingToMove
from allocator.models import Lease, MoveHold, MovePlan, Relocation
from allocator.models.relocation import MovePlanState
from allocator.services import make_room, move_plans, pools, run_moves
from allocator.services.sweep import sweep
from tests.allocator.factories import MIB, TENANT, Node, at, book, make_wish, started_lease
from tests.allocator.moving import let_run, tick
from vxpu.ids import new_uuid
from vxpu.market import LeaseView, Wish

pytestmark = pytest.mark.usefixtures("system")
WHOLE: dict[str, Any] = {"share_permille": 1000, "memory_mib": MIB}


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VXPU_ROOM_MOVES", 8)
    monkeypatch.setattr(settings, "VXPU_MOVES_PER_TENANT_DAY", 2)


def fill(node: Node, sizes: list[int]) -> list[list[LeaseView]]:
    """Whole devices, tenant by tenant."""
    numbers = iter(range(8))
    found = [
        [started_lease(node, device_id=node.device_id(next(numbers)), **WHOLE) for _ in range(size)] for size in sizes
    ]
    for leases in found:
        Lease.objects.filter(pk__in=[one.id for one in leases]).update(pinned=False, tenant_id=new_uuid())
    return found


def fragmented_fleet() -> list[Node]:
    """Case: three nodes of 8, used 4+2+1, 4+2, 4+2+1."""
    nodes = [Node(devices=8) for _ in range(3)]
    for node, sizes in zip(nodes, ([4, 2, 1], [4, 2], [4, 2, 1]), strict=True):
        fill(node, sizes)
    return nodes


def run(nodes: list[Node], *, until: str = "cleared", seconds: int = 2) -> MovePlan:
    """Let the clock go until the plan is in that state."""
    let_run(nodes, seconds=seconds, until=lambda: MovePlan.objects.get().state == until)
    return MovePlan.objects.get()


def ask_of(**over: Any) -> Wish:
    return make_wish(**{"starts_at": at(1), **over})


def test_four_devices_on_a_fragmented_fleet_take_two_moves_each_placed_before_it_leaves() -> None:
    nodes = fragmented_fleet()
    seen = make_room.preview(wish=ask_of(**WHOLE), count=4, moves=8, now=at(1))
    assert (len(seen.moves), len(seen.devices), seen.reason) == (2, 4, "")
    assert {move.tenant_id for move in seen.moves} != {TENANT}
    owners = [new_uuid() for _ in range(4)]
    make_room.start(wish=ask_of(**WHOLE), owners=owners, tenant_id=TENANT, moves=8, actor="queue", now=at(1))
    plan = run(nodes)
    assert plan.state == "cleared", plan.end_reason
    for move in Relocation.objects.select_related("lease", "successor"):
        assert move.successor is not None
        assert move.successor.ready_at is not None
        assert move.lease.drain_at is not None
        assert move.successor.ready_at <= move.lease.drain_at
    final = Lease.objects.filter(kept_for__is_final=True, state="held")
    assert {lease.owner for lease in final} == set(owners)
    assert len({lease.node_id for lease in final}) == 1
    assert sweep() == []


def test_without_moves_the_reason_is_how_it_is_fragmented() -> None:
    fragmented_fleet()
    with pytest.raises(NothingToMove, match="fragmented: 4 free on 3 nodes"):
        make_room.start(wish=ask_of(**WHOLE), owners=[new_uuid()] * 4, tenant_id=TENANT, moves=0, actor="q", now=at(1))
    Lease.objects.update(pinned=True)
    seen = make_room.preview(wish=ask_of(**WHOLE), count=4, moves=8, now=at(1))
    assert (seen.moves, seen.reason) == ((), "fragmented: 4 free on 3 nodes")


def shared_fleet() -> tuple[Node, Node, UUID]:
    """Two devices, 600 and 500 taken: 600 more fit after one move only."""
    first, second = Node(), Node()
    for node, share in ((first, 300), (first, 300), (second, 500)):
        started_lease(node, device_id=node.device_id(), share_permille=share, memory_mib=MIB * share // 1000)
    Lease.objects.update(pinned=False)
    wish = ask_of(share_permille=600, memory_mib=MIB * 6 // 10)
    owner = new_uuid()
    make_room.start(wish=wish, owners=[owner], tenant_id=TENANT, moves=8, actor="queue", now=at(1))
    run_moves.run(now=at(1))
    return first, second, owner


def test_nobody_snatches_the_room_at_any_time_until_it_is_claimed() -> None:
    first, second, owner = shared_fleet()
    plan = MovePlan.objects.get()
    for now in range(2, 40):
        for share in (600, 400, 350):
            with pytest.raises(DoesNotFit):
                book(make_wish(starts_at=at(now), share_permille=share, memory_mib=MIB * share // 1000), now=at(now))
        tick([first, second], seconds=now)
        plan.refresh_from_db()
        if plan.state == "cleared":
            break
    assert plan.state == "cleared"
    (kept,) = Lease.objects.filter(owner=owner)
    assert (kept.state, kept.share_permille, kept.tenant_id) == ("held", 600, TENANT)


def test_cancelled_midway_the_holds_are_given_back_and_what_was_moved_stays() -> None:
    shared_fleet()
    plan = MovePlan.objects.get()
    assert move_plans.stop(plan_id=plan.pk, to=MovePlanState.CANCELLED, reason="no", actor="olga", now=at(3))
    assert not move_plans.stop(plan_id=plan.pk, to=MovePlanState.CANCELLED, reason="no", actor="olga", now=at(4))
    assert set(MoveHold.objects.values_list("lease__state", flat=True)) <= {"gone"}
    assert set(Relocation.objects.values_list("state", flat=True)) == {"cancelled"}
    assert Lease.objects.filter(state="ready").count() == 3
    assert book(make_wish(starts_at=at(5), share_permille=350, memory_mib=MIB // 10), now=at(5))


def test_a_tenant_is_not_disturbed_more_often_than_a_day_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VXPU_MOVES_PER_TENANT_DAY", 0)
    fragmented_fleet()
    seen = make_room.preview(wish=ask_of(**WHOLE), count=4, moves=8, now=at(1))
    assert seen.moves == ()


def test_a_pool_has_its_own_limits_and_else_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    pools.make_pool(name="gpu", policy="binpack", now=at(0))
    for node in fragmented_fleet():
        pools.describe_node(node_id=node.id, changes={"pool": "gpu"}, actor="olga", now=at(0))

    def moves(**limits: int | None) -> int:
        pools.change_pool(name="gpu", changes={"room_moves": None, "moves_per_tenant_day": None, **limits})
        return len(make_room.preview(wish=ask_of(**WHOLE), count=4, moves=None, now=at(1)).moves)

    assert [moves(), moves(room_moves=1), moves(room_moves=2), moves(moves_per_tenant_day=0)] == [2, 0, 2, 0]
    assert not moves(room_moves=0)
    monkeypatch.setattr(settings, "VXPU_ROOM_MOVES", 0)
    monkeypatch.setattr(settings, "VXPU_MOVES_PER_TENANT_DAY", 0)
    assert [moves(), moves(room_moves=2), moves(room_moves=2, moves_per_tenant_day=2)] == [0, 0, 2]
    assert make_room.is_made_anywhere()
    moves()
    assert not make_room.is_made_anywhere()
