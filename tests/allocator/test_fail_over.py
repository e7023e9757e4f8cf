"""Giving up what silent nodes ran: never before their own fence, in batches, and not twice on a node that returns."""

from __future__ import annotations

import importlib
from dataclasses import fields
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from agent import daemon
from agent.config import Config
from agent.reconcile import SECOND_NS
from allocator import facade
from allocator.errors import DoesNotFit, LeaseLost
from allocator.models import Lease, NodeEvent, NodeHost, Segment
from allocator.models import Node as NodeRow
from allocator.services import cordon, self_fence, standby, watch
from allocator.services import resize as change
from allocator.services.sweep import sweep
from plumbing import db
from plumbing.errors import DomainError
from tests.allocator.factories import MIB, NOON, TENANT, Node, at, book, make_report, make_wish, resize, started_lease
from tests.allocator.test_watch import state, watch_until
from vxpu.market import Candidate, Claim, LeaseView
from vxpu.slices import Slice
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system")
WHOLE: dict[str, Any] = {"memory_mib": MIB, "share_permille": 1000}
HALF: dict[str, Any] = {"memory_mib": MIB // 2, "share_permille": 500}


@db.transaction
def book_together(*claims: Claim) -> tuple[dict[UUID, UUID], dict[UUID, str]]:
    return facade.book_all(claims=claims, now=at(40))


def claim(node: Node, *, device: int = 0, **wish: Any) -> Claim:
    owner = NodeRow().pk
    return Claim(
        owner=owner, tenant_id=TENANT, wish=make_wish(starts_at=at(40), **wish),
        place=Candidate(device_id=node.device_id(device), node_id=node.id, score=0),
    )  # fmt: skip


def refusals(**wish: Any) -> object:
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(starts_at=at(70), **wish), now=at(70))
    return refused.value.data["constraints"]


def kinds(node: Node) -> list[str]:
    return list(NodeEvent.objects.filter(node_id=node.id).order_by("created_at", "pk").values_list("kind", flat=True))


def test_the_agents_fence_comes_first_by_the_real_settings() -> None:
    base = importlib.import_module("config.settings.base")
    assert base.VXPU_AUTHORITY_S + base.VXPU_FENCE_MARGIN_S < base.VXPU_FAILURE_TIMEOUT_S
    # The agent wakes at the moment its authority is over, and to sample at the latest; each cycle looks at the gates.
    sample_s = next(field.default for field in fields(Config) if field.name == "sample_s")
    assert sample_s < base.VXPU_FENCE_MARGIN_S


def test_the_agent_counts_from_its_question_and_we_from_hearing_it(settings: Any) -> None:
    asked_ns, authority_ns = 5 * SECOND_NS, 25 * SECOND_NS
    agent = daemon.Daemon.__new__(daemon.Daemon)
    agent.contact_mono_ns, agent.authority_s = asked_ns, settings.VXPU_AUTHORITY_S
    assert agent.has_authority(asked_ns + authority_ns)
    assert not agent.has_authority(asked_ns + authority_ns + 1)
    node = Node()
    assert node.sync(now=at(7)).authority_s == settings.VXPU_AUTHORITY_S
    heard = NodeRow.objects.get(pk=node.id)
    assert heard.authority_until == at(7) + timedelta(seconds=settings.VXPU_AUTHORITY_S)


def test_nothing_is_given_up_while_the_settings_prove_nothing(settings: Any, caplog: Any) -> None:
    node = Node()
    lease = started_lease(node)
    settings.VXPU_FENCE_MARGIN_S = 5
    watch_until(40)
    assert [told.id for told in self_fence.check_settings(None)] == ["allocator.W001"]
    assert (facade.watch_nodes(now=at(42)), state(lease)) == (0, LeaseState.UNREACHABLE)
    assert "Nothing fails over" in caplog.text
    settings.VXPU_FENCE_MARGIN_S = 3
    assert self_fence.check_settings(None) == []
    assert (facade.watch_nodes(now=at(44)), state(lease)) == (1, LeaseState.LOST)


def test_an_agent_that_was_told_of_more_authority_is_waited_for(settings: Any) -> None:
    settings.VXPU_AUTHORITY_S = 100
    node = Node()
    lease = started_lease(node)
    settings.VXPU_AUTHORITY_S = 25
    node.sync(now=at(1))  # the answer may have been lost
    watch_until(60)
    assert facade.watch_nodes(now=at(103)) == 0
    assert facade.watch_nodes(now=at(104)) == 1
    assert state(lease) == LeaseState.LOST


def test_the_leases_of_many_nodes_are_lost_together_under_newer_tokens() -> None:
    nodes = [Node(devices=2) for _ in range(3)]
    leases = [book(make_wish(**WHOLE)) for _ in range(6)]
    for node in nodes:
        node.sync(now=NOON)
    watch_until(32)
    assert facade.watch_nodes(now=at(34)) == 6
    assert facade.list_lost(since=at(34)) == sorted(lease.id for lease in leases)
    lost = [facade.get_lease(lease_id=lease.id) for lease in leases]
    assert min(lease.token for lease in lost) > max(lease.token for lease in leases)
    assert Segment.objects.filter(live=True).count() == 0
    assert [kinds(node)[-2:] for node in nodes] == [["offline", "given_up"]] * 3
    assert (sweep(), facade.watch_nodes(now=at(36))) == ([], 0)


def test_claims_are_granted_each_for_itself() -> None:
    node = Node(devices=2)
    fits, too_much, beside = claim(node, **WHOLE), claim(node), claim(node, device=1)
    leases, refused = book_together(fits, beside, too_much)
    assert sorted(leases) == sorted([fits.owner, beside.owner])
    assert refused == {too_much.owner: "memory_and_compute"}
    assert sweep() == []


def test_a_closed_node_refuses_its_own_claims_only() -> None:
    node, closed = Node(devices=2), Node()
    cordon.cordon(node_id=closed.id, reason="", actor="olga", now=NOON)
    whole, half, late = claim(node), claim(node, device=1, **HALF), claim(closed)
    leases, refused = book_together(whole, late, half)
    assert (sorted(leases), refused) == (sorted([whole.owner, half.owner]), {late.owner: "cordoned"})
    rows = Lease.objects.filter(pk__in=leases.values())
    assert {(row.owner, row.device_id) for row in rows} == {
        (whole.owner, node.device_id(0)), (half.owner, node.device_id(1))
    }  # fmt: skip
    assert len({row.token for row in rows}) == 2
    assert sweep() == []


def test_a_host_that_is_full_refuses_one_of_two_that_were_to_go_there() -> None:
    node = Node(devices=2)
    NodeHost.objects.filter(node_id=node.id).update(capacity_cores_milli=8000)
    first, second = claim(node, cores_milli=5000), claim(node, device=1, cores_milli=5000)
    leases, refused = book_together(first, second)
    assert len(leases) == 1
    assert list(refused.values()) == ["host_cores"]
    assert sweep() == []


def test_a_node_that_stands_by_takes_only_what_was_lost() -> None:
    node = Node()
    standby.set_standby(node_id=node.id, standby=True, actor="olga", now=NOON)
    standby.set_standby(node_id=node.id, standby=True, actor="olga", now=at(1))
    assert refusals() == {"standby": 1}
    wish = claim(node)
    (found,) = facade.find_places(wishes={wish.owner: wish.wish}, tenants={wish.owner: TENANT}, now=at(40))
    assert (found.place.device_id, found.standby) == (node.device_id(), True)
    assert list(book_together(found)[0]) == [wish.owner]
    standby.set_standby(node_id=node.id, standby=False, actor="olga", now=at(41))
    assert kinds(node) == ["enrolled", "online", "standby_set", "standby_ended"]


def lose_and_return(node: Node, lease: LeaseView) -> None:
    """Given up at 34 s, heard again at 60 s with its slice still there."""
    watch_until(32)
    assert facade.watch_nodes(now=at(34)) == 1
    assert node.say(lease, LeaseState.READY, now=at(60)).leases == []


def test_a_node_that_returns_takes_nothing_until_it_has_ended_what_was_given_up() -> None:
    node = Node()
    lease = started_lease(node, **WHOLE)
    lose_and_return(node, lease)
    assert refusals() == {"settling": 1}
    node.say(lease, LeaseState.DRAINING, now=at(61))
    assert refusals() == {"settling": 1}
    node.say(lease, LeaseState.GONE, now=at(62))
    assert book(make_wish(starts_at=at(70), **WHOLE), now=at(70)).device_id == node.device_id()
    assert kinds(node)[-4:] == ["given_up", "online", "settling", "settled"]


def test_a_slice_that_is_simply_not_named_any_more_is_gone_as_well() -> None:
    node = Node()
    lose_and_return(node, started_lease(node))
    node.sync(now=at(62))
    assert NodeRow.objects.get(pk=node.id).settling_since is None


def test_a_lease_that_was_booked_for_later_is_kept_from_a_node_that_settles() -> None:
    node = Node()
    lease, later = started_lease(node), book(make_wish(starts_at=at(58), ends_at=at(600)))
    watch_until(32)
    assert facade.watch_nodes(now=at(34)) == 1
    assert node.say(lease, LeaseState.READY, now=at(60)).leases == []
    assert state(later) == LeaseState.ASSIGNED
    (order,) = node.say(lease, LeaseState.GONE, now=at(61)).leases
    assert order.token == later.token


def test_what_waited_for_its_node_may_not_grow_while_that_settles() -> None:
    node = Node()
    pinned, other = started_lease(node, device_id=node.device_id()), started_lease(node)
    watch_until(32)
    assert facade.watch_nodes(now=at(34)) == 1
    node.sync(now=at(60), leases=[make_report(one, LeaseState.READY) for one in (pinned, other)])
    assert (state(pinned), state(other)) == (LeaseState.READY, LeaseState.LOST)
    with pytest.raises(DomainError) as refused:
        resize(pinned.id, now=at(61), memory_mib=MIB // 2, share_permille=250)
    assert refused.value.data["constraints"] == {"settling": 1}
    node.say(pinned, LeaseState.READY, now=at(62))
    assert resize(pinned.id, now=at(63), memory_mib=MIB // 2, share_permille=250).slice.memory_mib == MIB // 2


def test_the_lost_who_stand_by_are_as_many_as_were_used() -> None:
    used, idle, *lost = [Node() for _ in range(5)]
    for node in (used, idle):
        standby.set_standby(node_id=node.id, standby=True, actor="olga", now=NOON)
    cordon.cordon(node_id=lost[2].id, reason="", actor="olga", now=NOON)
    watch_until(28)
    used.sync(now=at(28))
    idle.sync(now=at(28))
    facade.watch_nodes(now=at(32))
    for _ in range(2):
        facade.hand_over_standby(used={used.id}, now=at(33))
    standing = set(NodeRow.objects.filter(standby=True).values_list("pk", flat=True))
    assert idle.id in standing
    assert used.id not in standing
    assert len(standing & {node.id for node in lost[:2]}) == 1
    assert len(standing) == 2


def test_the_watch_says_why_a_pinned_lease_waits() -> None:
    node = Node()
    lease = started_lease(node, device_id=node.device_id())
    assert Lease.objects.get(pk=lease.id).pinned
    watch_until(32)
    told = facade.list_lease_news(tenant_id=TENANT, before=None, limit=1)
    assert (facade.watch_nodes(now=at(90)), told[0].reason) == (0, watch.WAITS)


def test_who_read_a_lease_that_is_given_up_meanwhile_hears_so() -> None:
    node = Node()
    lease = started_lease(node)
    read = Lease.objects.get(pk=lease.id)
    watch_until(30)
    watch.beat(part=watch.DOOR, now=at(32))
    assert facade.watch_nodes(now=at(32)) == 1
    with pytest.raises(LeaseLost):
        change.resize_ask(read, Slice(memory_mib=64, share_permille=64), now=at(32))
    with pytest.raises(LeaseLost):
        change.end_ask(read, at(9000), now=at(32))
