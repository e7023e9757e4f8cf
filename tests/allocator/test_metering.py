"""Delivered time, idle time and what must be rated again."""

from __future__ import annotations

from datetime import datetime

import pytest
from pytest_django import Settings

from allocator import facade
from allocator.services import watch
from plumbing import db
from tests.allocator.factories import HOUR, MIB, NOON, Node, at, book, make_wish, release, resize, started_lease
from vxpu.market import DirtyHour, LeaseView
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system")


def spans(lease: LeaseView, *, now: datetime) -> list[tuple[float, float, int, bool]]:
    """(seconds after noon, seconds after noon, dominant permille, open)."""
    return [
        ((p.starts_at - NOON).total_seconds(), (p.ends_at - NOON).total_seconds(), p.dominant_permille, p.open)
        for p in facade.metered_phases(lease_id=lease.id, now=now)
    ]


@db.transaction
def take(limit: int = 100) -> list[DirtyHour]:
    return facade.take_dirty_hours(limit=limit)


def beat(node: Node, *seconds: int) -> None:
    """Heartbeats: a node that is not answered for 25 s closes its gates, and that time is not delivered."""
    for second in seconds:
        node.sync(now=at(second))


def test_time_counts_from_the_first_whole_second_after_ready() -> None:
    node = Node()
    lease = book(make_wish())
    assert spans(lease, now=at(5)) == []
    node.sync(now=at(1))
    node.say(lease, LeaseState.READY, now=at(2.3))
    assert spans(lease, now=at(2.9)) == []
    assert spans(lease, now=at(10.7)) == [(3, 10, 250, True)]


def test_time_ends_at_the_release_although_the_slice_goes_later() -> None:
    node = Node()
    lease = started_lease(node)
    release(lease.id, now=at(10.9))
    assert spans(lease, now=at(12)) == [(0, 10, 250, False)]
    node.end(lease, now=at(13))
    assert spans(lease, now=at(9999)) == [(0, 10, 250, False)]


def test_time_ends_when_the_slice_is_gone_before_its_end() -> None:
    node = Node()
    lease = started_lease(node, ends_at=at(100))
    beat(node, 20)
    node.end(lease, now=at(40.5))
    assert spans(lease, now=at(9999)) == [(0, 40, 250, False)]


def test_a_resize_splits_at_a_whole_second_without_a_gap() -> None:
    node = Node()
    lease = started_lease(node)
    resize(lease.id, now=at(10.4), memory_mib=MIB // 2, share_permille=100)
    assert spans(lease, now=at(20)) == [(0, 11, 250, False), (11, 20, 500, True)]


def test_a_lease_that_ended_before_ready_delivered_nothing() -> None:
    node = Node()
    lease = book(make_wish())
    node.sync(now=at(1))
    node.end(lease, now=at(2))
    assert spans(lease, now=at(10)) == []


def test_while_unreachable_time_stops_at_the_last_counted_window() -> None:
    node = Node()
    lease = started_lease(node)
    beat(node, 25, 50)
    assert node.statuses(node.window(lease, NOON), now=at(61)) == ["accepted"]
    beat(node, 70)
    for second in range(72, 104, 2):
        watch.mark_unreachable(now=at(second))
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.UNREACHABLE
    assert spans(lease, now=at(500)) == [(0, 60, 250, True)]
    # Measured within authority (until 95), arrives late: rated after all.
    assert node.statuses(node.window(lease, at(60), granted_permille_s=8750, seq=1), now=at(501)) == ["accepted"]
    assert spans(lease, now=at(502)) == [(0, 95, 250, True)]
    node.say(lease, LeaseState.READY, now=at(600))
    assert spans(lease, now=at(610)) == [(0, 95, 250, False), (600, 610, 250, True)]


def test_gates_that_closed_while_the_server_was_down_are_not_delivered_time() -> None:
    node = Node()
    lease = started_lease(node)
    beat(node, 25, 50, 70)
    node.statuses(node.window(lease, NOON), now=at(71))
    node.say(lease, LeaseState.READY, now=at(400))
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.READY
    assert spans(lease, now=at(410)) == [(0, 60, 250, False), (400, 410, 250, True)]


def test_idle_and_dominant_add_up_to_the_device(settings: Settings) -> None:
    settings.VXPU_AUTHORITY_S = 7200
    node = Node(capacity_permille=800)
    first = started_lease(node, memory_mib=MIB * 15 // 100, share_permille=600, ends_at=NOON + HOUR)
    second = started_lease(node, memory_mib=MIB * 80 // 100, share_permille=150, ends_at=NOON + HOUR / 2)
    for lease, end in ((first, 3600), (second, 1800)):
        node.end(lease, now=at(end))
    report = facade.device_idle(device_id=node.device_id(), starts_at=NOON, ends_at=NOON + HOUR)
    charged = sum(
        phase.permille_s
        for lease in (first, second)
        for phase in facade.metered_phases(lease_id=lease.id, now=NOON + HOUR)
    )
    assert report.over_permille_s > 0
    assert charged + report.idle_permille_s - report.over_permille_s == 1000 * 3600
    assert report.taken_permille_s + report.idle_permille_s == 1000 * 3600


def test_four_quarters_leave_nothing_idle() -> None:
    node = Node()
    for _ in range(4):
        started_lease(node)
    report = facade.device_idle(device_id=node.device_id(), starts_at=at(10), ends_at=at(20))
    assert (report.idle_permille_s, report.over_permille_s, report.taken_permille_s) == (0, 0, 10_000)


def test_thirds_of_memory_round_up_for_each_but_never_above_the_device() -> None:
    node = Node(capacity_mib=1000, memory_mib=2000)
    leases = [started_lease(node, memory_mib=333, share_permille=1) for _ in range(3)]
    dominant = sum(spans(lease, now=at(10))[0][2] for lease in leases)
    report = facade.device_idle(device_id=node.device_id(), starts_at=NOON, ends_at=at(10))
    assert dominant == 999
    assert report.idle_permille_s == 10
    assert report.over_permille_s == 0


def test_an_empty_device_is_all_idle() -> None:
    node = Node()
    report = facade.device_idle(device_id=node.device_id(), starts_at=NOON, ends_at=at(7))
    assert (report.idle_permille_s, report.over_permille_s) == (7000, 0)


def test_a_start_marks_a_bucket_that_may_be_over_before_it_is_committed(settings: Settings) -> None:
    settings.VXPU_RATING_PERIOD_S = 60
    lease = started_lease(Node())
    assert take() == [DirtyHour(lease_id=lease.id, tenant_id=lease.tenant_id, owner=lease.owner, starts_at=NOON)]
    assert take() == []


def test_every_change_marks_its_rating_bucket() -> None:
    node = Node()
    lease = started_lease(node)
    assert take() == []  # the first use will, or the end of its bucket
    resize(lease.id, now=at(3700), memory_mib=MIB // 2, share_permille=100)
    node.statuses(node.window(lease, at(60)), now=at(3701))
    release(lease.id, now=at(7300))
    starts = [hour.starts_at for hour in take()]
    assert starts == [NOON, NOON + HOUR, NOON + 2 * HOUR]


def test_used_counts_the_windows_that_start_in_the_period() -> None:
    node = Node()
    lease = started_lease(node)
    for minute in range(3):
        node.send(node.window(lease, at(60 * minute), seq=minute, used_permille_s=10 + minute), now=at(200))
    assert facade.used_permille_s(lease_id=lease.id, starts_at=NOON, ends_at=at(120)) == 21
    report = facade.usage_report(lease_id=lease.id)
    assert (report.windows_counted, report.used_permille_s, report.peak_mib, report.seqs_missing) == (3, 33, 10, 0)
