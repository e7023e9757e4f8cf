"""Who moves and who stays: cut cards, pins, gangs; and the list of a drain that says so of each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from allocator import facade
from allocator.errors import NothingToMove
from allocator.models import Lease, MovePlan, Relocation, Segment
from allocator.models import Node as NodeRow
from allocator.services import drain_node, make_room, move_plans, run_moves
from allocator.services.drain_impact import foresee_drain
from allocator.services.sweep import sweep
from plumbing import db
from tests.allocator.cut import CARD_MIB, cut_node
from tests.allocator.factories import HOUR, MIB, NOON, TENANT, Node, at, book, make_wish, started_lease
from tests.allocator.moving import let_run
from vxpu.ids import new_uuid
from vxpu.market import LeaseView

pytestmark = pytest.mark.usefixtures("system")
SMALL: dict[str, Any] = {"memory_mib": 2000, "share_permille": 100}


def drain(node: Node) -> None:
    drain_node.drain(node_id=node.id, reason="fans", at=None, actor="olga", now=at(1), move=True)


def reasons(node: Node) -> list[str]:
    found = foresee_drain(node_id=node.id, at=at(1), now=at(1))
    return [found.stays[lease.id] for lease in found.running]


def gang(count: int, together: str, *nodes: Node) -> list[LeaseView]:
    """A gang of quarters, started wherever it is."""
    wish = make_wish()
    found = facade.propose_gang(wish=wish, count=count, together=together, now=NOON)
    owners = [new_uuid() for _ in found]
    leases = db.transaction(facade.book_gang)(
        tenant_id=TENANT, owners=owners, wish=wish, together=together, candidates=found, now=NOON
    )
    for lease in leases:
        next(node for node in nodes if node.id == lease.node_id).start(lease, now=NOON)
    return leases


def slots_on(node: Node) -> list[tuple[int, int]]:
    found = Segment.objects.filter(device_id=node.device_id(), live=True)
    return sorted((one.slots.lower, one.slots.upper) for one in found if one.slots is not None)


def move_all(node: Node, *others: Node, count: int) -> None:
    drain(node)
    let_run([node, *others], until=lambda: Relocation.objects.filter(state="done").count() == count)
    assert sweep() == []


def test_a_part_of_a_cut_card_moves_to_a_legal_start_of_another_one() -> None:
    node, other = cut_node(), cut_node()
    taken = started_lease(other, device_id=other.device_id(), **SMALL)
    lease = started_lease(node, device_id=node.device_id(), **SMALL)
    third = started_lease(node, device_id=node.device_id(), memory_mib=1, share_permille=400)
    Lease.objects.exclude(pk=taken.id).update(pinned=False)
    assert reasons(node) == ["", ""]
    move_all(node, other, count=2)
    assert slots_on(other) == [(0, 4), (5, 6), (6, 7)]
    moved = Lease.objects.filter(node_id=other.id, state="ready").exclude(pk=taken.id)
    assert {(one.owner, one.memory_mib, one.share_permille) for one in moved} == {
        (lease.owner, CARD_MIB // 8, 142), (third.owner, CARD_MIB // 2, 428)
    }  # fmt: skip


def test_a_part_that_finds_no_legal_start_stays_and_the_list_says_so() -> None:
    node, other = cut_node(), cut_node()
    started_lease(other, device_id=other.device_id(), **SMALL)
    started_lease(node, device_id=node.device_id(), memory_mib=CARD_MIB, share_permille=1000)
    Lease.objects.update(pinned=False)
    assert reasons(node) == ["no_room"]
    drain(node)
    assert run_moves.run(now=at(2)) == 0
    assert Relocation.objects.count() == 0


def test_a_shared_slice_does_not_grow_by_a_move_to_a_cut_card() -> None:
    node, other = cut_node(cut=False, model="NVIDIA A100"), cut_node(model="NVIDIA A100")
    lease = started_lease(node, device_id=node.device_id(), **SMALL)
    Lease.objects.update(pinned=False)
    assert reasons(node) == ["no_room"]
    plan = move_plans.move_one(
        lease_id=lease.id, device_id=other.device_id(), reason="x", actor="olga", now=at(1)
    )  # fmt: skip
    run_moves.run(now=at(2))
    move = Relocation.objects.get(plan_id=plan)
    assert (move.state, move.end_reason) == ("failed", "the new device would cut it another size")
    assert Lease.objects.count() == 1


def test_room_on_a_cut_card_is_made_by_moving_a_part_and_held_where_it_was() -> None:
    node, other = cut_node(), cut_node()
    leases = [
        started_lease(where, device_id=where.device_id(), memory_mib=1, share_permille=400)
        for where in (node, node, other)
    ]
    Lease.objects.filter(pk=leases[1].id).update(pinned=False)
    assert slots_on(node) == [(0, 4), (4, 8)]
    owner = new_uuid()
    wish = make_wish(starts_at=at(1), ends_at=NOON + HOUR, memory_mib=1, share_permille=571)
    plan = make_room.start(wish=wish, owners=[owner], tenant_id=TENANT, moves=8, actor="olga", now=at(1))
    let_run([node, other], until=lambda: MovePlan.objects.get(pk=plan).state == "cleared")
    held = Lease.objects.get(owner=owner)
    assert (held.state, held.share_permille, sweep()) == ("held", 571, [])
    assert Segment.objects.get(lease=held).slots.lower == 0


def test_a_pin_to_a_device_stays_one_to_a_model_or_pool_moves_within_it() -> None:
    node, other, foreign = Node(model="X"), Node(model="X"), Node(model="Y")
    pinned = started_lease(node, device_id=node.device_id())
    named = started_lease(node, models=("X",), memory_mib=MIB // 8)
    Lease.objects.filter(pk=named.id).update(node_id=node.id, device_id=node.device_id())
    Segment.objects.filter(lease_id=named.id).update(device_id=node.device_id())
    assert sorted(reasons(node)) == ["", "pinned"]
    move_all(node, other, foreign, count=1)
    assert Lease.objects.get(owner=named.owner, state="ready").node_id == other.id
    assert Lease.objects.get(pk=pinned.id).state == "ready"
    with pytest.raises(NothingToMove, match="by name"):
        move_plans.move_one(lease_id=pinned.id, device_id=other.device_id(), reason="x", actor="olga", now=at(9))


def test_a_gang_on_one_node_stays_together_and_the_list_says_so() -> None:
    node, other = Node(devices=2), Node(devices=3)
    leases = gang(2, "node", node, other)
    here = node if leases[0].node_id == node.id else other
    there = other if here is node else node
    assert reasons(here) == ["together", "together"]
    drain(here)
    assert run_moves.run(now=at(2)) == 0
    with pytest.raises(NothingToMove, match="together"):
        move_plans.move_one(lease_id=leases[0].id, device_id=there.device_id(), reason="x", actor="olga", now=at(3))


def test_members_with_a_device_each_keep_one_each() -> None:
    node, other = Node(), Node(devices=2)
    leases = gang(3, "devices", node, other)
    assert reasons(node) == ["no_room"]  # there is room on both others, beside a member
    spare = Node()
    assert reasons(node) == [""]
    move_all(node, other, spare, count=1)
    moved = Lease.objects.filter(owner__in=[one.owner for one in leases], state="ready")
    assert moved.values("device_id").distinct().count() == 3
    assert moved.filter(node_id=spare.id).count() == 1


@pytest.mark.parametrize(("racks", "reason"), [(("r1", "r1", "r2"), "no_room"), (("r1", "r1", "r1"), "")])
def test_members_of_a_rack_stay_in_it(racks: tuple[str, str, str], reason: str) -> None:
    nodes = [Node() for _ in racks]
    for node, rack in zip(nodes, racks, strict=True):
        NodeRow.objects.filter(pk=node.id).update(rack=rack)
    leases = gang(2, "rack", *nodes)
    here = next(node for node in nodes if node.id == leases[0].node_id)
    assert reasons(here) == [reason]
    strange = next(node for node in nodes if node.id not in {one.node_id for one in leases})
    plan = moved_by_hand(leases[0].id, strange)
    assert (plan is None) is bool(reason)


def moved_by_hand(lease_id: UUID, node: Node) -> UUID | None:
    try:
        return move_plans.move_one(
            lease_id=lease_id, device_id=node.device_id(), reason="x", actor="olga", now=at(1)
        )  # fmt: skip
    except NothingToMove:
        return None


def test_whoever_ends_soon_or_moves_already_is_named_as_such() -> None:
    node, other = Node(), Node()
    for ends_at in (at(300), NOON + HOUR):
        started_lease(node, device_id=node.device_id(), ends_at=ends_at)
    Lease.objects.update(pinned=False)
    assert sorted(reasons(node)) == ["", "ends_soon"]
    moved_by_hand(Lease.objects.get(ends_at=NOON + HOUR).pk, other)
    assert sorted(reasons(node)) == ["ends_soon", "moving"]
    coming = book(make_wish(starts_at=NOON + 2 * HOUR, device_id=node.device_id()))
    assert coming.id not in foresee_drain(node_id=node.id, at=at(1), now=at(1)).stays
