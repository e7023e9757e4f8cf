"""Places are looked for before the verdict: what was found is booked, unless something has changed since."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from allocator import facade as allocator
from allocator.models import NodeEvent
from allocator.services import cordon, standby
from allocator.services._picture import PICTURE
from allocator.services.sweep import sweep
from marketplace.models import EVERYWHERE, Reservation
from marketplace.services import fail_over, release, resize
from marketplace.services.fail_over import Replaced
from marketplace.services.wish import slice_of
from tests.marketplace.factories import NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from tests.marketplace.test_fail_over import at, pass_time, running

pytestmark = pytest.mark.usefixtures("committed_system", "settled")
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


@pytest.fixture
def settled(settings: Any) -> Iterator[None]:
    settings.VXPU_AUTHORITY_S, settings.VXPU_FAILURE_TIMEOUT_S = 25, 30
    make_price("3.20")
    PICTURE.forget()
    yield
    PICTURE.forget()


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


def lose(ada: Buyer, *sizes: dict[str, Any]) -> tuple[list[Reservation], list[Node]]:
    """A node with what runs there, silent for thirty seconds; two others with two devices each."""
    lost = Node(now=NOON, devices=[make_device() for _ in sizes])
    rows = [buy(ada, **size) for size in sizes]
    running(lost, *rows)
    others = [Node(now=NOON, devices=[make_device(), make_device()]) for _ in range(2)]
    assert pass_time(30, *others) == Replaced(found=0, placed=0)
    return rows, others


def verdict(*heard: Node) -> Replaced:
    return pass_time(32, *heard, since=30)


def was_found_before(row: Reservation, ms: float) -> bool:
    """By the time in the id of the lease (UUIDv7), which is made when the place is found."""
    return lease_of(row).int >> 80 < ms


def test_what_was_found_before_the_verdict_is_booked(ada: Buyer) -> None:
    rows, others = lose(ada, {}, {})
    ms = time.time() * 1000
    assert verdict(*others) == Replaced(found=2, placed=2)
    moved = [fresh(row) for row in rows]
    assert [was_found_before(row, ms) for row in moved] == [True, True]
    leases = [allocator.get_lease(lease_id=lease_of(row)) for row in moved]
    assert [lease.period.starts_at for lease in leases] == [at(32), at(32)]
    assert sweep() == []


def test_each_place_is_given_out_once(ada: Buyer) -> None:
    rows, others = lose(ada, {})
    owners = [row.pk for row in rows]
    (claim,) = allocator.give_out(owners=owners)
    assert claim.place.node_id in {node.id for node in others}
    assert allocator.give_out(owners=owners) == []


def test_who_books_the_place_meanwhile_has_it_and_the_other_gets_another(ada: Buyer) -> None:
    rows, others = lose(ada, WHOLE, {})
    planned = {claim.owner: claim for claim in allocator.give_out(owners=[row.pk for row in rows])}
    fail_over.look_ahead(now=at(30))
    quicker = buy(ada, now=at(31), device_id=planned[rows[0].pk].place.device_id, **WHOLE)
    ms = time.time() * 1000
    assert verdict(*others) == Replaced(found=2, placed=2)
    large, small = (fresh(row) for row in rows)
    assert large.device_id not in {quicker.device_id, rows[0].device_id}
    assert not was_found_before(large, ms)
    assert was_found_before(small, ms) == (planned[small.pk].place.device_id != quicker.device_id)
    assert sweep() == []


def test_who_has_another_size_since_is_looked_for_anew(ada: Buyer) -> None:
    rows, others = lose(ada, {})
    resize.resize(
        reach=EVERYWHERE, reservation_id=rows[0].pk, memory_mib=4096, share_permille=500, actor="user:ada", now=at(31)
    )
    assert verdict(*others) == Replaced(found=1, placed=1)
    lease = allocator.get_lease(lease_id=lease_of(fresh(rows[0])))
    assert lease.slice == slice_of(fresh(rows[0]))
    assert lease.slice.memory_mib == 4096


def test_who_is_released_meanwhile_gets_none(ada: Buyer) -> None:
    rows, others = lose(ada, {}, {})
    release.release(reach=EVERYWHERE, reservation_id=rows[0].pk, actor="user:ada", now=at(31))
    assert verdict(*others) == Replaced(found=1, placed=1)
    assert fresh(rows[0]).state == "completed"


def test_a_node_that_is_heard_after_all_keeps_everything(ada: Buyer) -> None:
    lost = Node(now=NOON)
    row = buy(ada)
    running(lost, row)
    other = Node(now=NOON)
    pass_time(30, other)
    lost.beat(now=at(31))
    assert pass_time(36, lost, other, since=31) == Replaced(found=0, placed=0)
    assert (fresh(row).state, lease_of(fresh(row))) == ("active", lease_of(row))


def test_a_place_on_a_node_that_is_closed_meanwhile_is_not_used(ada: Buyer) -> None:
    rows, others = lose(ada, {})
    (claim,) = allocator.give_out(owners=[rows[0].pk])
    fail_over.look_ahead(now=at(30))
    gone, stays = sorted(others, key=lambda node: node.id != claim.place.node_id)
    cordon.cordon(node_id=gone.id, reason="", actor="user:olga", now=at(31))
    assert verdict(stays) == Replaced(found=1, placed=1)
    assert fresh(rows[0]).device_id in {stays.device(0).id, stays.device(1).id}


def test_a_place_on_a_node_that_stands_by_is_found_ahead_and_the_node_is_used_up(ada: Buyer) -> None:
    lost = Node(now=NOON)
    row = buy(ada)
    running(lost, row)
    other, reserve = Node(now=NOON), Node(now=NOON)
    standby.set_standby(node_id=reserve.id, standby=True, actor="user:olga", now=NOON)
    pass_time(30, other, reserve)
    ms = time.time() * 1000
    assert verdict(other, reserve) == Replaced(found=1, placed=1)
    moved = fresh(row)
    assert moved.device_id == reserve.device().id
    assert was_found_before(moved, ms)
    assert set(NodeEvent.objects.filter(at=at(32)).values_list("kind", "node_id")) >= {
        ("standby_used", reserve.id), ("standby_set", lost.id),
    }  # fmt: skip
