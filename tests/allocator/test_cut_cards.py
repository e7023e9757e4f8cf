"""Cards that their hardware cuts, booked: the smallest part, at a start that is free, and nothing time-shared."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection
from psycopg.types.range import Int4Range, TimestamptzRange

from allocator.errors import DoesNotFit
from allocator.models import Device, Lease, Segment
from allocator.services.sweep import sweep
from plumbing import db
from tests.allocator.cut import CARD_MIB, cut_node
from tests.allocator.factories import HOUR, NOON, TENANT, Node, book, make_wish, release, resize
from tests.allocator.test_vector import ask_sql, refused_by
from vxpu.market import LeaseView
from vxpu.slices import Slice
from vxpu.states import Isolation
from vxpu.wire.node import Slots

pytestmark = pytest.mark.usefixtures("system")
SMALL: dict[str, Any] = {"memory_mib": 2000, "share_permille": 100}


def slots_of(lease: LeaseView) -> tuple[int, int]:
    slots = Segment.objects.get(lease_id=lease.id).slots
    return slots.lower, slots.upper


def test_an_ask_gets_the_smallest_profile_and_its_start_is_in_the_books() -> None:
    cut_node()
    small, double, third = (
        book(make_wish(memory_mib=mib, share_permille=share)) for mib, share in ((2000, 100), (15_000, 100), (1, 400))
    )
    assert [one.slice for one in (small, double, third)] == [
        Slice(memory_mib=CARD_MIB * part // 8, share_permille=share) for part, share in ((1, 142), (2, 142), (4, 428))
    ]
    assert [slots_of(one) for one in (small, double, third)] == [(6, 7), (4, 6), (0, 4)]
    assert sweep() == []


def test_the_node_is_told_the_start_that_is_booked() -> None:
    node = cut_node()
    lease = book(make_wish(memory_mib=15_000, share_permille=100))
    (told,) = node.sync(now=NOON).leases
    assert told.slots == Slots(first=slots_of(lease)[0], end=slots_of(lease)[1])
    assert "slots" in told.model_dump(mode="json")
    shared = Node()
    book(make_wish(device_id=shared.device_id()))
    assert "slots" not in shared.sync(now=NOON).leases[0].model_dump(mode="json")


def test_seven_of_the_smallest_and_the_eighth_is_told_why() -> None:
    cut_node()
    leases = [book(make_wish(**SMALL)) for _ in range(7)]
    assert sorted(slots_of(one) for one in leases) == [(start, start + 1) for start in range(7)]
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(**SMALL))
    assert refused.value.data["constraints"] == {"compute": 1}
    release(leases[3].id, now=NOON)
    again = book(make_wish(**SMALL))
    assert slots_of(again) == slots_of(leases[3])
    with pytest.raises(Exception, match="one size"):
        resize(again.id, now=NOON, memory_mib=100, share_permille=50)


def test_a_start_that_was_taken_meanwhile_is_followed_by_another_on_the_same_card() -> None:
    node = cut_node()
    assert ask_sql(node.device_id(), slots=Int4Range(6, 7)) is None  # behind the picture's back, or named by device
    assert slots_of(book(make_wish(**SMALL, device_id=node.device_id()))) == (5, 6)
    assert ask_sql(node.device_id()) == "mig_slot"


def test_whole_or_in_parts_but_not_both() -> None:
    cut_node()
    whole = book(make_wish(isolation_at_least=Isolation.EXCLUSIVE, ends_at=NOON + HOUR))
    assert whole.slice == Slice(memory_mib=CARD_MIB, share_permille=1000)
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(**SMALL))
    assert refused.value.data["constraints"] == {"taken_whole": 1}


def test_no_path_writes_a_shared_piece_or_a_slot_twice_on_a_cut_card() -> None:
    cut_node()
    book(make_wish(**SMALL))
    lease = Lease.objects.get()
    assert refused_by(lease, permille=1, mib=1) == "segment_shared_on_a_cut_card"
    assert refused_by(lease, mode_class=2, slots=Int4Range(5, 7)) == "segment_slot_once"
    with pytest.raises(IntegrityError, match="takes no shared piece"), db.savepoint():
        Segment.objects.filter(lease=lease).update(mode_class=0, slots=None)
    with pytest.raises(IntegrityError, match="takes no shared piece"), db.savepoint(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO allocator_segment (id, tenant_id, created_at, lease_id, device_id, permille, mib, device_mib,"
            " period, mode_class, live) SELECT gen_random_uuid(), tenant_id, now(), lease_id, device_id, 1, 1, 1,"
            " period, 0, true FROM allocator_segment"
        )
    assert Segment.objects.count() == 1


def test_a_card_that_is_cut_while_shared_pieces_run_lets_them_be_and_takes_no_other() -> None:
    node = cut_node(cut=False)
    lease = book(make_wish(**SMALL, ends_at=NOON + HOUR))
    node.devices[0] = cut_node().devices[0].model_copy(update={"key": node.devices[0].key})
    node.sync(now=NOON)
    assert Device.objects.filter(pk=node.device_id(), card__mig__enabled=True).exists()
    Segment.objects.filter(lease_id=lease.id).update(period=TimestamptzRange(NOON, NOON + 2 * HOUR))
    with pytest.raises(DoesNotFit):
        book(make_wish(**SMALL, device_id=node.device_id()))
    assert Lease.objects.filter(tenant_id=TENANT).count() == 1


def test_a_card_that_is_cut_in_ways_that_nobody_knows_is_sold_whole_or_not_at_all() -> None:
    cut_node(model="NVIDIA GB999")
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(**SMALL))
    assert refused.value.data["constraints"] == {"larger_than_device": 1}
    assert book(make_wish(isolation_at_least=Isolation.EXCLUSIVE)).slice.share_permille == 1000
