"""A drain that moves, and quiet hours that empty nodes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings

from allocator.models import Lease, MovePlan, Relocation
from allocator.models.maintenance import DrainState
from allocator.selectors import nodes
from allocator.services import consolidate, drain_node, run_moves
from allocator.services.quiet import is_quiet
from allocator.services.sweep import sweep
from tests.allocator.factories import MIB, NOON, Node, at, started_lease
from tests.allocator.moving import let_run

pytestmark = pytest.mark.usefixtures("system")


def drain(node: Node) -> None:
    drain_node.drain(node_id=node.id, reason="fans", at=None, actor="olga", now=at(1), move=True)


def drain_state(node: Node, *, seconds: float) -> DrainState:
    return nodes.get_node(node_id=node.id, now=at(seconds)).drain.state


def test_a_drain_with_moves_empties_the_node_and_what_was_asked_for_there_stays() -> None:
    node, other = Node(devices=2), Node(devices=2)
    for number in (0, 0, 1):
        started_lease(node, device_id=node.device_id(number))
    pinned = Lease.objects.order_by("pk").first()
    assert pinned is not None
    Lease.objects.exclude(pk=pinned.pk).update(pinned=False)
    drain(node)
    drain(node)
    let_run([node, other], until=lambda: Lease.objects.filter(node_id=node.id).exclude(state="gone").count() == 1)
    assert set(Relocation.objects.values_list("state", flat=True)) <= {"switched", "done"}
    assert (Relocation.objects.count(), MovePlan.objects.get().state) == (2, "running")
    assert drain_state(node, seconds=60) == DrainState.DRAINING
    Lease.objects.filter(pk=pinned.pk).update(pinned=False)
    let_run([node, other], seconds=70, until=lambda: MovePlan.objects.get().state == "done")
    drain_node.settle(now=at(200))
    assert (drain_state(node, seconds=200), sweep()) == (DrainState.DRAINED, [])


def test_an_undrain_calls_off_what_has_not_switched() -> None:
    node, other = Node(), Node()
    lease = started_lease(node, device_id=node.device_id())
    Lease.objects.update(pinned=False)
    drain(node)
    run_moves.run(now=at(2))
    assert Relocation.objects.get().state == "preparing"
    drain_node.undrain(node_id=node.id, actor="olga", now=at(3))
    assert (Relocation.objects.get().state, MovePlan.objects.get().state) == ("cancelled", "cancelled")
    assert Lease.objects.get(pk=lease.id).state == "ready"
    assert Lease.objects.filter(node_id=other.id).exclude(state__in=["gone", "draining"]).count() == 0


def test_a_drain_moves_nothing_where_there_is_no_room() -> None:
    node = Node()
    started_lease(node, device_id=node.device_id())
    Lease.objects.update(pinned=False)
    drain(node)
    assert run_moves.run(now=at(2)) == 0
    assert Relocation.objects.count() == 0


def test_quiet_hours_empty_a_node_and_when_they_are_over_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    full, nearly_empty = Node(), Node()
    started_lease(full, device_id=full.device_id(), share_permille=500, memory_mib=MIB // 2)
    started_lease(nearly_empty, device_id=nearly_empty.device_id(), share_permille=100, memory_mib=MIB // 10)
    Lease.objects.update(pinned=False)
    assert consolidate.consolidate(now=at(1)) is None
    monkeypatch.setattr(settings, "VXPU_CONSOLIDATION_MOVES", 4)
    assert consolidate.consolidate(now=at(1)) is None
    monkeypatch.setattr(settings, "VXPU_QUIET_HOURS", "11:00-13:00")
    assert consolidate.consolidate(now=at(1)) is not None
    assert consolidate.consolidate(now=at(2)) is None
    let_run([full, nearly_empty], until=lambda: MovePlan.objects.get().state == "done")
    assert Lease.objects.filter(node_id=full.id, state="ready").count() == 2
    assert consolidate.consolidate(now=at(200)) is None  # nothing more would be empty


def test_a_plan_that_outlasts_the_quiet_hours_is_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VXPU_CONSOLIDATION_MOVES", 4)
    monkeypatch.setattr(settings, "VXPU_QUIET_HOURS", "11:00-12:01")
    for share in (500, 100):
        node = Node()
        started_lease(node, device_id=node.device_id(), share_permille=share, memory_mib=MIB // 10)
    Lease.objects.update(pinned=False)
    consolidate.consolidate(now=at(1))
    run_moves.run(now=at(2))
    run_moves.run(now=at(61))
    assert (MovePlan.objects.get().state, Relocation.objects.get().state) == ("cancelled", "cancelled")


@pytest.mark.parametrize(("hours", "minutes", "quiet"), [
    ("", 0, False), ("12:00-13:00", 0, True), ("12:00-13:00", 60, False), ("22:00-06:00", 0, False),
    ("22:00-06:00", 11 * 60, True), ("22:00-06:00", 18 * 60, False), ("11:00-12:00", 0, False),
])  # fmt: skip
def test_quiet_hours_are_half_open_and_may_go_over_midnight(
    hours: str, minutes: int, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VXPU_QUIET_HOURS", hours)
    assert is_quiet(NOON + timedelta(minutes=minutes)) is quiet
