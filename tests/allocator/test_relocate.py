"""One move, step by step: who runs, who waits, and what is left when a step fails or somebody changes his mind."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import pytest
from django.db import connection

from allocator import facade
from allocator.errors import LeaseMoving, NothingToMove
from allocator.models import Lease, LeaseEvent, Relocation
from allocator.models.relocation import ALLOWED, PLAN_ALLOWED, MovePlanState
from allocator.services import move_plans, relocate, run_moves
from allocator.services.sweep import sweep
from plumbing import db
from tests.allocator.factories import MIB, NOON, Node, at, book, make_report, make_wish, release, resize, started_lease
from vxpu.ids import encode
from vxpu.market import LeaseView, MoveView
from vxpu.states import LeaseState
from vxpu.wire.node import HookDone

pytestmark = pytest.mark.usefixtures("system")


class Story:
    """Two nodes of one device, a lease on the first, and a plan that moves it to the second."""

    def __init__(self) -> None:
        self.old_node, self.new_node = Node(), Node()
        self.lease = started_lease(self.old_node, device_id=self.old_node.device_id())
        Lease.objects.update(pinned=False)  # booked there by name, for the story's sake
        self.plan_id = self.plan()

    def plan(self) -> UUID:
        return move_plans.move_one(
            lease_id=self.lease.id, device_id=self.new_node.device_id(), reason="test", actor="olga", now=at(1)
        )

    @property
    def move(self) -> MoveView:
        row = Relocation.objects.filter(plan_id=self.plan_id).get()
        return facade.get_move(move_id=row.pk)

    @property
    def new(self) -> LeaseView:
        assert self.move.successor_id is not None
        return facade.get_lease(lease_id=self.move.successor_id)

    @property
    def old(self) -> LeaseView:
        return facade.get_lease(lease_id=self.lease.id)

    def step(self, seconds: float) -> str:
        relocate.advance(relocation_id=self.move.id, now=at(seconds))
        return self.move.state

    def to_hooking(self) -> None:
        """At second 4 the hook is asked."""
        assert self.step(2) == "preparing"
        self.new_node.start(self.new, now=at(3))
        assert self.step(3) == "ready"
        assert self.step(4) == "hooking"

    def answer(self, result: Literal["ok", "failed", "none"], *, seconds: float) -> None:
        done = HookDone(id=encode("mov", self.move.id), result=result)
        self.old_node.sync(now=at(seconds), leases=[make_report(self.lease, LeaseState.READY, hook=done)])

    def switch(self, seconds: float) -> MoveView:
        return db.transaction(facade.switch_move)(move_id=self.move.id, now=at(seconds))


@pytest.fixture
def story() -> Story:
    return Story()


def lives(story: Story) -> tuple[str, str]:
    return story.old.state.value, story.new.state.value


def test_a_move_goes_ready_hook_switch_release(story: Story) -> None:
    story.to_hooking()
    assert lives(story) == ("ready", "ready")
    (told,) = story.old_node.sync(now=at(5), leases=[make_report(story.lease, LeaseState.READY)]).leases
    assert told.hook is not None
    assert (told.hook.reason, told.hook.deadline) == ("move", at(64))
    story.answer("ok", seconds=6)
    done = story.switch(7.5)
    assert (done.state, done.switched_at, lives(story)) == ("switched", at(7), ("draining", "ready"))
    assert story.step(8) == "switched"
    story.old_node.end(story.lease, now=at(9))
    assert story.step(9) == "done"
    run_moves.run(now=at(10))
    assert (story.move.ended_at, sweep()) == (at(9), [])
    said = LeaseEvent.objects.filter(lease_id=story.lease.id, reason__startswith="move")
    assert {"move: the new slice is ready, hook asked", "move: hook ok", "moved"} <= set(
        said.values_list("reason", flat=True)
    )


def test_delivered_time_is_one_leases_and_then_the_others(story: Story) -> None:
    story.to_hooking()
    assert facade.metered_phases(lease_id=story.new.id, now=at(5)) == []
    story.answer("none", seconds=6)
    story.switch(7.5)
    story.old_node.end(story.lease, now=at(9.2))
    (before,) = facade.metered_phases(lease_id=story.lease.id, now=at(60))
    (after,) = facade.metered_phases(lease_id=story.new.id, now=at(60))
    assert (before.starts_at, before.ends_at, after.starts_at, after.ends_at) == (NOON, at(7), at(7), at(60))
    idle = facade.device_idle(device_id=story.new_node.device_id(), starts_at=NOON, ends_at=at(60))
    assert idle.taken_permille_s == 250 * 53


@pytest.mark.parametrize("steps", range(4))
def test_cancelled_at_any_step_before_the_switch_the_old_one_never_stopped(story: Story, steps: int) -> None:
    if steps == 1:
        story.step(2)
    if steps >= 2:
        story.to_hooking()
    if steps == 3:
        story.answer("ok", seconds=5)
    assert relocate.cancel(relocation_id=story.move.id, reason="no", actor="olga", now=at(10))
    assert not relocate.cancel(relocation_id=story.move.id, reason="no", actor="olga", now=at(11))
    assert (story.move.state, story.old.state) == ("cancelled", "ready")
    if story.move.successor_id is not None:
        story.new_node.sync(now=at(12))
        story.new_node.end(story.new, now=at(20))
        assert story.new.state == "gone"
        assert facade.metered_phases(lease_id=story.new.id, now=at(60)) == []
        assert facade.is_spare(lease_id=story.new.id)
    assert sweep() == []


def test_each_step_is_taken_once_however_often_it_is_asked_for(story: Story) -> None:
    story.to_hooking()
    assert [story.step(5) for _ in range(3)] == ["hooking"] * 3
    story.answer("ok", seconds=6)
    story.answer("failed", seconds=6)  # a second word changes nothing
    assert story.move.hook_result == "ok"
    story.switch(7)
    with pytest.raises(facade.MoveChanged):
        story.switch(8)
    assert Lease.objects.filter(owner=story.lease.owner).count() == 2


def test_without_an_answer_it_goes_on_after_the_deadline_and_a_hook_that_fails_stops_it(story: Story) -> None:
    story.to_hooking()
    assert story.step(64) == "hooking"
    assert story.move.hook_result == ""
    story.step(70)
    assert story.move.hook_result == "timeout"
    other = Story()
    other.to_hooking()
    other.answer("failed", seconds=6)
    with pytest.raises(facade.CannotMove):
        other.switch(7)


def test_a_release_cancels_the_move_and_a_resize_waits_for_it(story: Story) -> None:
    assert resize(story.lease.id, now=at(1), memory_mib=MIB // 2, share_permille=300).slice.share_permille == 300
    story.to_hooking()
    assert story.new.slice.share_permille == 300
    with pytest.raises(LeaseMoving):
        resize(story.lease.id, now=at(5), memory_mib=MIB // 2, share_permille=400)
    release(story.lease.id, now=at(6))
    assert (story.move.state, story.new.state) == ("cancelled", "draining")


def test_two_plans_want_one_lease_and_one_of_them_wins(story: Story) -> None:
    with pytest.raises(NothingToMove):
        story.plan()


def test_a_new_place_that_was_taken_or_cordoned_or_dies_ends_the_move_and_nothing_else(story: Story) -> None:
    book(make_wish(device_id=story.new_node.device_id(), share_permille=1000, memory_mib=MIB))
    assert story.step(2) == "failed"
    assert story.old.state == "ready"
    other = Story()
    other.step(2)
    other.new_node.sync(now=at(2))
    other.new_node.say(other.new, LeaseState.GONE, now=at(3))
    assert (other.step(4), other.old.state) == ("failed", "ready")
    assert "gone" in other.move.end_reason
    late = Story()
    late.step(2)
    assert late.step(200) == "failed"
    assert (late.old.state, late.new.state) == ("ready", "gone")


@db.transaction
def fence(lease: LeaseView, *, seconds: float) -> None:
    Lease.objects.filter(pk=lease.id).update(state="unreachable")
    facade.fence(lease_id=lease.id, reason="node lost", now=at(seconds))


def test_an_old_node_that_dies_makes_of_the_move_a_fail_over(story: Story) -> None:
    story.step(2)
    story.new_node.start(story.new, now=at(3))
    story.step(3)
    fence(story.lease, seconds=4)
    assert story.step(5) == "hooking"
    assert story.move.hook_result == "silent"
    assert story.switch(6).state == "switched"
    assert (lives(story), story.step(7)) == (("lost", "ready"), "done")


def test_the_database_knows_the_same_moves_as_the_code() -> None:
    with connection.cursor() as cursor:
        for function, table in (("relocation", ALLOWED), ("moveplan", PLAN_ALLOWED)):
            for state, nexts in table.items():
                cursor.execute(f"SELECT allocator_{function}_moves(%s)", [str(state)])
                assert set(cursor.fetchone()[0]) == {str(one) for one in nexts}, state
    assert MovePlanState.DONE in PLAN_ALLOWED
