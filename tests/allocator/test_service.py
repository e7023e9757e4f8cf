"""Cordon, drain, and what they leave alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from allocator import facade
from allocator.errors import DoesNotFit, IllegalPeriod, NodeIsDraining, NodeLeftFleet
from allocator.models import Maintenance, NodeEvent
from allocator.models.maintenance import DrainState
from allocator.selectors import impact, nodes
from allocator.services import cordon, drain_node, enrol, pools
from plumbing import db
from plumbing.errors import NotFound
from plumbing.feed import Place
from plumbing.models import OutboxEvent
from tests.allocator.factories import HOUR, NOON, Node, at, book, make_wish, release, resize, started_lease
from vxpu.ids import new_uuid
from vxpu.market import LeaseView
from vxpu.slices import Slice

pytestmark = pytest.mark.usefixtures("system")
SMALL = Slice(memory_mib=1, share_permille=1)


def close(node: Node, *, seconds: float = 0) -> None:
    cordon.cordon(node_id=node.id, reason="a fan rattles", actor="olga", now=at(seconds))


def drain(node: Node, *, seconds: float = 0, reason: str = "new fans", **over: object) -> None:
    values = {"at": None, "actor": "olga", **over}
    drain_node.drain(node_id=node.id, reason=reason, now=at(seconds), **values)  # type: ignore[arg-type]


def undrain(node: Node, *, seconds: float) -> None:
    drain_node.undrain(node_id=node.id, actor="olga", now=at(seconds))


def state(node: Node, *, seconds: float = 0) -> tuple[str, bool]:
    view = nodes.get_node(node_id=node.id, now=at(seconds))
    return view.drain.state.value, view.cordoned


def kinds(node: Node) -> list[str]:
    return list(NodeEvent.objects.filter(node_id=node.id).order_by("created_at", "pk").values_list("kind", flat=True))


@db.transaction
def set_end(lease: LeaseView, *, seconds: float | None, now: float) -> LeaseView:
    ends_at = None if seconds is None else at(seconds)
    return facade.set_end(lease_id=lease.id, ends_at=ends_at, now=at(now))


def refused_for(**wish: Any) -> Any:
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(**wish))
    return refused.value.data["constraints"]


def test_a_cordoned_node_takes_nothing_new_for_any_period_and_leaves_what_runs_alone() -> None:
    node = Node()
    lease = started_lease(node)
    close(node)
    assert refused_for() == {"cordoned": 1}
    assert refused_for(starts_at=NOON + 30 * HOUR, ends_at=NOON + 31 * HOUR) == {"cordoned": 1}
    assert resize(lease.id, now=at(1), memory_mib=3000, share_permille=300).slice.share_permille == 300
    assert set_end(lease, seconds=7200, now=2).period.ends_at == at(7200)
    cordon.uncordon(node_id=node.id, actor="olga", now=at(3))
    assert book(make_wish()).node_id == node.id


def test_the_database_has_the_last_word_when_the_search_has_not_seen_the_cordon() -> None:
    node = Node()
    candidates = facade.propose(wish=make_wish(), now=NOON)
    close(node)

    @db.transaction
    def late() -> LeaseView:
        return facade.book(
            tenant_id=new_uuid(), owner=new_uuid(), wish=make_wish(), candidates=candidates, hold_until=None, now=NOON
        )

    with pytest.raises(DoesNotFit) as refused:
        late()
    assert refused.value.data["constraints"] == {"cordoned": 1}


def test_a_search_goes_round_a_cordoned_node_to_the_next() -> None:
    closed, open_node = Node(), Node()
    close(closed)
    assert {book(make_wish()).node_id for _ in range(4)} == {open_node.id}


def test_cordon_and_uncordon_are_safe_to_repeat_and_say_so_once() -> None:
    node = Node()
    for seconds in (0, 1):
        close(node, seconds=seconds)
    for seconds in (2, 3):
        cordon.uncordon(node_id=node.id, actor="olga", now=at(seconds))
    assert kinds(node) == ["enrolled", "online", "cordoned", "uncordoned"]
    freed = OutboxEvent.objects.filter(kind="allocator.events.CapacityFreed").count()
    assert freed == 1


def test_a_drained_node_is_drained_when_its_last_lease_is_gone() -> None:
    node = Node()
    lease, later = started_lease(node, ends_at=NOON + HOUR), book(make_wish(starts_at=NOON + HOUR))
    drain(node)
    assert state(node) == ("draining", True)
    assert refused_for(starts_at=NOON + 9 * HOUR) == {"maintenance": 1}
    node.end(lease, now=at(3601))
    drain_node.settle(now=at(3602))
    assert state(node, seconds=3602) == ("draining", True)
    release(later.id, now=at(3603))
    node.end(later, now=at(3604))
    assert drain_node.settle(now=at(3605)) == [node.id]
    assert (state(node, seconds=3605), drain_node.settle(now=at(3606))) == (("drained", True), [])
    assert kinds(node)[2:] == ["draining", "drained"]


def test_an_empty_node_is_drained_at_once_and_comes_back() -> None:
    node = Node()
    drain(node)
    assert state(node) == ("drained", True)
    undrain(node, seconds=10)
    undrain(node, seconds=11)
    assert state(node, seconds=11) == ("none", False)
    assert book(make_wish(starts_at=at(12)), now=at(12)).node_id == node.id
    period = facade.list_maintenance(from_at=NOON, to_at=NOON + HOUR)
    assert [(one.starts_at, one.ends_at, one.reason) for one in period] == [(NOON, at(10), "new fans")]
    assert facade.list_maintenance(from_at=at(10), to_at=NOON + HOUR) == []


def test_a_lease_is_not_prolonged_into_a_drain_but_may_change_else() -> None:
    node = Node()
    lease = started_lease(node, ends_at=NOON + HOUR)
    drain(node, seconds=1)
    for longer in (7200, None):
        with pytest.raises(DoesNotFit) as refused:
            set_end(lease, seconds=longer, now=2)
        assert refused.value.data["constraints"] == {"maintenance": 1}
    assert resize(lease.id, now=at(3), memory_mib=3000, share_permille=300).slice.memory_mib == 3000
    assert set_end(lease, seconds=1800, now=5).period.ends_at == at(1800)


def test_a_planned_drain_lets_in_what_ends_before_it() -> None:
    node = Node()
    drain(node, at=NOON + HOUR)
    assert state(node) == ("planned", False)
    assert refused_for() == {"maintenance": 1}
    lease = book(make_wish(ends_at=NOON + HOUR))
    assert drain_node.settle(now=at(3599)) == []
    assert drain_node.settle(now=at(3600)) == [node.id]
    assert state(node, seconds=3600) == ("draining", True)
    release(lease.id, now=at(3601))
    drain_node.settle(now=at(3602))
    assert state(node, seconds=3602) == ("drained", True)
    assert kinds(node)[2:] == ["drain_planned", "draining", "drained"]


def test_a_planned_drain_is_planned_anew_brought_forward_and_called_off() -> None:
    node = Node()
    drain(node, at=NOON + HOUR)
    drain(node, seconds=1, at=NOON + 2 * HOUR)
    assert nodes.get_node(node_id=node.id, now=at(1)).drain.started_at == NOON + 2 * HOUR
    undrain(node, seconds=2)
    assert facade.list_maintenance(from_at=NOON, to_at=NOON + 9 * HOUR) == []
    drain(node, seconds=3, at=NOON + HOUR)
    drain(node, seconds=4)
    assert state(node, seconds=4) == ("drained", True)
    assert Maintenance.objects.filter(ends_at__isnull=True).count() == 1


def test_calling_a_planned_drain_off_leaves_a_cordon_that_was_there() -> None:
    node = Node()
    close(node)
    drain(node, seconds=1, at=NOON + HOUR)
    undrain(node, seconds=2)
    assert state(node, seconds=2) == ("none", True)


def test_a_cordon_is_not_lifted_under_a_drain() -> None:
    node = Node()
    started_lease(node)
    drain(node)
    with pytest.raises(NodeIsDraining, match="new fans"):
        cordon.uncordon(node_id=node.id, actor="bob", now=at(1))
    drain(node, seconds=2, reason="another")
    assert nodes.get_node(node_id=node.id, now=at(2)).drain.reason == "new fans"


@pytest.mark.parametrize("moment", [NOON - timedelta(seconds=1), NOON + timedelta(days=367)])
def test_a_drain_begins_within_the_year(moment: object) -> None:
    node = Node()
    with pytest.raises(IllegalPeriod):
        drain(node, at=moment)
    assert state(node) == (DrainState.NONE.value, False)


def test_a_hold_from_before_the_cordon_is_kept_and_is_in_the_list() -> None:
    node = Node()
    held = book(make_wish(), hold_until=at(60))
    drain(node, seconds=1)
    found = impact.list_impact(node_id=node.id, at=at(1), now=at(1))
    assert [lease.id for lease in found.running] == [held.id]

    @db.transaction
    def confirm() -> LeaseView:
        return facade.confirm(lease_id=held.id, now=at(2))

    assert confirm().state.value == "assigned"
    assert state(node, seconds=3)[0] == "draining"


def test_a_hold_that_lapses_does_not_keep_a_node_from_being_drained() -> None:
    node = Node()
    book(make_wish(), hold_until=at(60))
    drain(node, seconds=1)
    assert impact.list_impact(node_id=node.id, at=at(61), now=at(61)).running == ()
    from allocator.services.hold import expire_holds

    expire_holds(now=at(61))
    drain_node.settle(now=at(62))
    assert state(node, seconds=62)[0] == "drained"


def test_the_impact_is_who_reaches_beyond_the_drain() -> None:
    node, other = Node(devices=2), Node()
    ada, bo = new_uuid(), new_uuid()
    short = book(make_wish(ends_at=NOON + HOUR, device_id=node.device_id()), tenant_id=ada)
    long = book(make_wish(device_id=node.device_id()), tenant_id=ada)
    coming = book(make_wish(starts_at=NOON + 2 * HOUR, device_id=node.device_id(1)), tenant_id=bo)
    gone = book(make_wish(device_id=node.device_id(1)), tenant_id=new_uuid())
    release(gone.id, now=NOON)
    book(make_wish(device_id=other.device_id()), tenant_id=new_uuid())
    now = impact.list_impact(node_id=node.id, at=NOON, now=NOON)
    assert {lease.id for lease in now.running} == {short.id, long.id}
    assert [lease.id for lease in now.booked] == [coming.id]
    assert now.affected_tenants == 2
    planned = impact.list_impact(node_id=node.id, at=NOON + HOUR, now=NOON)
    assert [lease.id for lease in planned.running] == [long.id]


def test_a_revoked_or_unknown_node_is_not_drained() -> None:
    node = Node()
    enrol.revoke(node_id=node.id, reason="sold", now=at(1))
    for act in (close, drain):
        with pytest.raises(NodeLeftFleet):
            act(node, seconds=2)
    with pytest.raises(NotFound):
        cordon.cordon(node_id=new_uuid(), reason="", actor="olga", now=NOON)
    assert kinds(node)[-1] == "revoked"


def test_the_calendar_shows_maintenance_and_no_free_time_in_it() -> None:
    node = Node()
    lease = book(make_wish(ends_at=NOON + HOUR, memory_mib=8000))
    drain(node, at=NOON + 2 * HOUR)
    (row,) = facade.list_calendar(
        from_at=NOON, to_at=NOON + 3 * HOUR, slice=Slice(memory_mib=1000, share_permille=100), now=NOON
    )
    assert [(piece.lease_id, piece.lane) for piece in row.pieces] == [(lease.id, 0)]
    assert [(free.starts_at, free.ends_at) for free in row.free] == [(NOON + HOUR, NOON + 2 * HOUR)]
    assert [one.starts_at for one in row.maintenance] == [NOON + 2 * HOUR]
    close(node)
    (row,) = facade.list_calendar(from_at=NOON, to_at=NOON + 3 * HOUR, slice=SMALL, now=NOON)
    assert (row.free, row.device.cordoned) == ((), True)


def test_node_events_come_newest_first() -> None:
    node = Node()
    close(node, seconds=5)
    newest = facade.list_node_events(before=None, limit=2)
    assert (newest[0].kind, newest[0].actor, newest[0].hostname) == ("cordoned", "olga", "node")
    assert [event.kind for event in facade.list_node_events(before=Place(at(5), UUID(int=0)), limit=9)] == [
        "online",
        "enrolled",
    ]


def test_a_rack_is_set_once_and_noted() -> None:
    node = Node()
    for seconds in (1, 2):
        pools.describe_node(node_id=node.id, changes={"rack": "R07"}, actor="olga", now=at(seconds))
    assert nodes.get_node(node_id=node.id, now=at(3)).rack == "R07"
    assert facade.get_device(device_id=node.device_id()).rack == "R07"
    assert kinds(node)[2:] == ["rack_set"]
