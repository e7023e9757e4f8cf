"""Extend, resize and start earlier: what fits is done, what does not leaves everything as it was."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace.errors import NothingEarlier, WrongPeriod, WrongState
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationEvent
from marketplace.services import extend, queue, release, resize, start_earlier
from plumbing.errors import NotFound
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import new_uuid
from vxpu.slices import Slice

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.fixture
def ada(node: Node) -> Buyer:
    return make_buyer()


def who(row: Reservation, *, now: datetime = NOON) -> dict[str, Any]:
    return {"reach": EVERYWHERE, "reservation_id": row.pk, "actor": "user:test", "now": now}


def snapshot(row: Reservation) -> tuple[Any, ...]:
    found = fresh(row)
    lease = allocator.get_lease(lease_id=lease_of(found))
    return found.state, found.version, found.starts_at, found.ends_at, found.share_permille, lease.slice, lease.period


def test_an_extension_moves_the_leases_end_and_is_noted(ada: Buyer) -> None:
    until = NOON + 2 * HOUR
    row = extend.extend(**who(buy(ada)), ends_at=until)
    assert allocator.get_lease(lease_id=lease_of(row)).period.ends_at == row.ends_at == until
    last = ReservationEvent.objects.filter(reservation=row).order_by("version").last()
    assert last is not None
    assert (last.from_state, last.to_state, last.reason) == (
        "resizing",
        "confirmed",
        f"until {until.isoformat()}",
    )


def test_the_same_again_changes_nothing(ada: Buyer) -> None:
    row = buy(ada)
    before = snapshot(row)
    extend.extend(**who(row), ends_at=NOON + HOUR)
    resize.resize(**who(row), memory_mib=2048, share_permille=250)
    assert snapshot(row) == before


def test_an_extension_into_anothers_time_is_refused_and_changes_nothing(ada: Buyer) -> None:
    row = buy(ada, memory_mib=8192, share_permille=1000)
    buy(make_buyer(), memory_mib=8192, share_permille=1000, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    before = snapshot(row)
    with pytest.raises(DoesNotFit) as refused:
        extend.extend(**who(row), ends_at=NOON + HOUR + timedelta(seconds=1))
    assert "Nothing changed" in refused.value.suggestion
    assert snapshot(row) == before


def test_a_growth_that_does_not_fit_says_what_would(ada: Buyer) -> None:
    row = buy(ada)
    buy(make_buyer(), memory_mib=4096, share_permille=500)
    before = snapshot(row)
    with pytest.raises(DoesNotFit) as refused:
        resize.resize(**who(row), memory_mib=6144, share_permille=750)
    assert refused.value.data["nearest"] == [Slice(memory_mib=4096, share_permille=500)]
    assert snapshot(row) == before
    resize.resize(**who(row), memory_mib=4096, share_permille=500)


def test_ends_that_are_none(ada: Buyer) -> None:
    row = buy(ada, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    for wrong in (NOON + HOUR, NOON - HOUR, NOON + 90 * MINUTE, NOON + 9999 * 24 * HOUR):
        with pytest.raises(WrongPeriod):
            extend.extend(**who(row), ends_at=wrong)
    assert extend.extend(**who(row), ends_at=None).ends_at is None
    assert extend.extend(**who(row), ends_at=NOON + 90 * MINUTE).ends_at == NOON + 90 * MINUTE


def test_what_is_over_is_not_changed(ada: Buyer) -> None:
    row = buy(ada)
    with pytest.raises(WrongState, match="past"):
        extend.extend(**who(row, now=NOON + HOUR), ends_at=NOON + 2 * HOUR)
    with pytest.raises(WrongState, match="past"):
        resize.resize(**who(row, now=NOON + HOUR), memory_mib=1, share_permille=1)
    release.release(**who(row))
    with pytest.raises(WrongState):
        extend.extend(**who(row), ends_at=NOON + 2 * HOUR)
    with pytest.raises(WrongState):
        resize.resize(**who(row), memory_mib=1, share_permille=1)
    with pytest.raises(WrongState):
        start_earlier.start_earlier(**who(row))


def test_what_waits_in_line_has_no_size_or_end_to_change(ada: Buyer) -> None:
    buy(make_buyer(), memory_mib=8192, share_permille=1000)
    row = buy(ada, queue=True)
    with pytest.raises(WrongState):
        resize.resize(**who(row), memory_mib=1, share_permille=1)
    with pytest.raises(WrongState):
        extend.extend(**who(row), ends_at=NOON + 2 * HOUR)
    assert queue.position_of(fresh(row), now=NOON) is not None


def test_an_unknown_reservation_is_not_found(node: Node) -> None:
    nobody: dict[str, Any] = {"reach": EVERYWHERE, "reservation_id": new_uuid(), "actor": "user:test", "now": NOON}
    for change in (release.release, start_earlier.start_earlier):
        with pytest.raises(NotFound):
            change(**nobody)
    with pytest.raises(NotFound):
        resize.resize(**nobody, memory_mib=1, share_permille=1)
    with pytest.raises(NotFound):
        extend.extend(**nobody, ends_at=None)


def test_an_earlier_start_takes_a_new_lease_and_the_old_one_was_nobodys_time(ada: Buyer) -> None:
    row = buy(ada, starts_at=NOON + HOUR, ends_at=None)
    old = lease_of(row)
    begun = start_earlier.start_earlier(**who(row))
    assert (begun.starts_at, begun.ends_at) == (NOON, None)
    assert lease_of(begun) != old
    assert not allocator.get_lease(lease_id=old).is_live
    spans = [(place.booked_from, place.booked_until) for place in Placement.objects.order_by("created_at", "id")]
    assert spans == [(NOON + HOUR, NOON + HOUR), (NOON, None)]
    with pytest.raises(NothingEarlier):
        start_earlier.start_earlier(**who(row))
