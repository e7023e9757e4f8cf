"""Finding a place, and the database's last word."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection
from psycopg.types.range import TimestamptzRange

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.models import Device, Lease, LeaseEvent, Segment
from allocator.services.sweep import sweep
from plumbing import db
from plumbing.errors import Invalid
from plumbing.rowsec import tenant_scope
from tests.allocator.factories import HOUR, MIB, NOON, TENANT, Node, at, book, make_wish, release, started_lease
from vxpu.ids import new_uuid
from vxpu.slices import Slice
from vxpu.states import LEASE_MOVES, Isolation, LeaseState

pytestmark = pytest.mark.usefixtures("system")

WHOLE: dict[str, Any] = {"memory_mib": MIB, "share_permille": 1000}
HALF: dict[str, Any] = {"memory_mib": MIB // 2, "share_permille": 500}


def test_a_slice_is_assigned_with_a_segment_and_an_event() -> None:
    node = Node()
    lease = book(make_wish())
    assert (lease.state, lease.device_id, lease.isolation) == (LeaseState.ASSIGNED, node.device_id(), Isolation.STRICT)
    segment = Segment.objects.get(lease_id=lease.id)
    assert (segment.permille, segment.mib, segment.period) == (250, MIB // 4, TimestamptzRange(NOON, None))
    assert [event.to_state for event in LeaseEvent.objects.filter(lease_id=lease.id)] == ["assigned"]


def test_tokens_grow() -> None:
    Node()
    assert book(make_wish()).token < book(make_wish()).token


def test_sixteen_halves_on_eight_devices_and_the_seventeenth_is_told_when() -> None:
    node = Node(devices=8)
    for number in range(16):
        book(make_wish(ends_at=NOON + HOUR * (1 + number % 3), **HALF))
    assert [Segment.objects.filter(device_id=node.device_id(n)).count() for n in range(8)] == [2] * 8
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(ends_at=NOON + HOUR, **HALF))
    assert refused.value.data["constraints"] == {"memory_and_compute": 8}
    assert refused.value.data["next_free_at"] == NOON + HOUR
    assert sweep() == []


def test_a_no_names_the_nearest_size_and_the_later_start() -> None:
    Node()
    book(make_wish(memory_mib=MIB // 2, share_permille=600, ends_at=NOON + HOUR))
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(ends_at=NOON + HOUR, **HALF))
    data = refused.value.data
    assert data["constraints"] == {"compute": 1}
    assert data["nearest"] == [
        Slice(memory_mib=MIB // 2, share_permille=400),
        Slice(memory_mib=MIB // 2 * 400 // 500, share_permille=400),
    ]
    kinds = [alternative["kind"] for alternative in data["alternatives"]]  # type: ignore[attr-defined]
    assert kinds == ["later", "smaller", "smaller"]
    assert "400" not in refused.value.suggestion
    assert "40 %" in refused.value.suggestion


def test_back_to_back_is_accepted_and_two_seconds_of_overlap_are_refused() -> None:
    Node()
    book(make_wish(starts_at=NOON, ends_at=NOON + HOUR, **WHOLE))
    book(make_wish(starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR, **WHOLE))
    with pytest.raises(DoesNotFit):
        book(make_wish(starts_at=at(3599), ends_at=at(3601), **WHOLE))


def test_exclusive_takes_the_whole_device_and_excludes_slices() -> None:
    Node()
    lease = book(make_wish(isolation_at_least=Isolation.EXCLUSIVE, ends_at=NOON + HOUR))
    assert (lease.slice, lease.isolation) == (Slice(memory_mib=MIB, share_permille=1000), Isolation.EXCLUSIVE)
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(memory_mib=1, share_permille=1))
    assert refused.value.data["constraints"] == {"taken_whole": 1}


def test_weaker_isolation_than_wished_is_no_candidate() -> None:
    Node(isolation=Isolation.ADVISORY)
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(isolation_at_least=Isolation.STRICT))
    assert refused.value.data["constraints"] == {"isolation": 1}


def test_policies_by_name() -> None:
    node = Node(devices=2)
    first = book(make_wish())
    assert book(make_wish(policy="binpack")).device_id == first.device_id
    assert book(make_wish(policy="spread")).device_id != first.device_id
    assert {first.device_id} < {node.device_id(0), node.device_id(1)}
    with pytest.raises(Invalid):
        book(make_wish(policy="luck"))


def test_a_vanished_device_is_refused_at_once() -> None:
    node = Node(devices=2)
    gone = node.device_id(1)
    node.devices.pop()
    node.sync(now=at(5))
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(device_id=gone))
    assert refused.value.data["constraints"] == {"offline": 1}


def test_the_fence_holds_on_every_other_path() -> None:
    node = Node()
    lease = book(make_wish(**HALF))
    with pytest.raises(IntegrityError, match="permille"), db.savepoint():
        Segment.objects.filter(lease_id=lease.id).update(permille=1000, mib=MIB + 1)
    with pytest.raises(IntegrityError, match="would hold"), db.savepoint():
        Segment.objects.create(
            tenant_id=TENANT, lease_id=lease.id, device_id=node.device_id(), permille=501, mib=1, device_mib=MIB,
            period=TimestamptzRange(NOON + HOUR, None),
        )  # fmt: skip
    assert sweep() == []


def test_the_database_refuses_an_illegal_move() -> None:
    Node()
    lease = book(make_wish())
    with pytest.raises(IntegrityError, match="not a legal move"), db.savepoint():
        Lease.objects.filter(pk=lease.id).update(state="held", hold_until=NOON)


def test_the_sweep_sees_what_a_smaller_device_breaks() -> None:
    node = Node()
    lease = book(make_wish(**HALF))
    Device.objects.filter(pk=node.device_id()).update(capacity_permille=400)
    found = sweep()
    assert [(one.kind, one.subject, one.found, one.allowed) for one in found] == [
        ("compute", node.device_id(), 500, 400)
    ]
    release(lease.id, now=NOON)
    assert sweep() == []


def test_a_tenants_scope_sees_the_whole_fleet_only_through_the_facade() -> None:
    node = Node()
    device_id = started_lease(node, **HALF).device_id
    with tenant_scope(new_uuid()):
        assert facade.propose(wish=make_wish(), now=NOON)[0].device_id == device_id
        assert not Device.objects.exists()
        assert not Segment.objects.exists()
        with pytest.raises(DoesNotFit):
            book(make_wish(**WHOLE))


def test_events_are_append_only() -> None:
    Node()
    lease = book(make_wish())
    with pytest.raises(IntegrityError, match="append-only"), db.savepoint():
        LeaseEvent.objects.filter(lease_id=lease.id).delete()


def test_the_moves_in_sql_are_those_of_the_vocabulary() -> None:
    with connection.cursor() as cursor:
        for state, targets in LEASE_MOVES.items():
            cursor.execute("SELECT allocator_lease_moves(%s)", [state.value])
            assert set(cursor.fetchone()[0]) == {target.value for target in targets}, state


def test_pieces_that_are_written_together_are_fenced_together() -> None:
    node = Node()
    lease = book(make_wish(starts_at=at(0), ends_at=at(10), **HALF))

    def write(*periods: tuple[int, int]) -> None:
        with db.savepoint():
            Segment.objects.bulk_create(
                Segment(
                    tenant_id=TENANT, lease_id=lease.id, device_id=node.device_id(), permille=500, mib=1,
                    device_mib=MIB, period=TimestamptzRange(at(first), at(end)),
                )
                for first, end in periods
            )  # fmt: skip

    with pytest.raises(IntegrityError, match="would hold 1500 permille"):
        write((0, 5), (4, 8))
    write((0, 5), (5, 10), (10, 20))
    Device.objects.filter(pk=node.device_id()).update(capacity_permille=700)
    write((20, 30))  # what it holds too much of at other times is not its business
    with pytest.raises(IntegrityError, match="would hold 1000 permille"):
        write((30, 40), (15, 18))
