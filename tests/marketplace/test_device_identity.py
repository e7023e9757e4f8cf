"""charged + idle - over_recovery = what the device costs: in integers, and to the cent."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from marketplace.errors import DoesNotAddUp, NoPrice, WrongPeriod
from marketplace.models import EVERYWHERE, SINCE_EVER, Placement
from marketplace.services import rate, reconcile, release, resize
from marketplace.services.reconcile_device import DeviceReconciliation, reconcile_device
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, lease_of, make_book, make_buyer, make_price
from tests.marketplace.node import Node, make_device

pytestmark = pytest.mark.usefixtures("system")
TEN_GIB = 10_000  # MiB, so that shares of memory are round


@pytest.fixture
def node() -> Node:
    return Node(now=NOON, devices=[make_device(memory_mib=20_000, capacity_mib=TEN_GIB)])


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


def add_up(node: Node, **over: object) -> DeviceReconciliation:
    wanted: dict[str, object] = {
        "device_id": node.device().id, "starts_at": NOON, "ends_at": NOON + HOUR, "currency": "EUR",
        "now": NOON + 2 * HOUR, **over,
    }  # fmt: skip
    node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + 2 * HOUR)
    return reconcile_device(**wanted)  # type: ignore[arg-type]


def money(found: DeviceReconciliation) -> tuple[str, str, str, str]:
    return str(found.charged), str(found.idle), str(found.over_recovery), str(found.cost)


def test_four_slices_of_15_percent_leave_40_percent_idle(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    for _ in range(4):
        buy(ada, memory_mib=1500, share_permille=150)
    node.beat(now=NOON)
    assert money(add_up(node)) == ("1.92", "1.28", "0.00", "3.20")


def test_four_quarters_leave_nothing_idle(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    for _ in range(4):
        buy(ada, memory_mib=2500, share_permille=100)  # the memory share is the dominant one
    node.beat(now=NOON)
    assert money(add_up(node)) == ("3.20", "0.00", "0.00", "3.20")


def test_what_dominant_shares_charge_beyond_the_device_is_over_recovery(node: Node, ada: Buyer) -> None:
    make_price("1.00")
    buy(ada, memory_mib=1500, share_permille=800)
    buy(ada, memory_mib=8000, share_permille=150)
    node.beat(now=NOON)
    found = add_up(node)
    assert money(found) == ("1.60", "0.05", "0.65", "1.00")
    assert found.quantities.charged == 1600 * 3600


def test_used_and_idle_time_of_tenants_do_not_change_the_sum(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    row = buy(ada, memory_mib=2500, share_permille=250)
    node.beat(now=NOON)
    node.use_steadily(lease_of(row), since=NOON, until=NOON + 20 * MINUTE, permille=133)
    rate.rate_dirty(now=NOON + 20 * MINUTE)
    assert money(add_up(node)) == ("0.80", "2.40", "0.00", "3.20")


def test_a_price_change_a_resize_and_a_release_still_add_up(node: Node, ada: Buyer) -> None:
    book = make_book()
    make_price("1.00", book_id=book.pk, valid_until=NOON + 20 * MINUTE)
    make_price("1.20", book_id=book.pk, valid_from=NOON + 20 * MINUTE)
    row = buy(ada, memory_mib=3333, share_permille=111, ends_at=NOON + HOUR)
    other = buy(ada, memory_mib=1000, share_permille=500, starts_at=NOON + 7 * MINUTE, ends_at=NOON + HOUR)
    node.beat(now=NOON + timedelta(seconds=3.5))
    node.beat(now=NOON + 7 * MINUTE + timedelta(seconds=1.25))
    resize.resize(reach=EVERYWHERE, reservation_id=row.pk, memory_mib=777, share_permille=333, actor="user:test",
                  now=NOON + 31 * MINUTE)  # fmt: skip
    release.release(reach=EVERYWHERE, reservation_id=other.pk, actor="user:test", now=NOON + 41 * MINUTE)
    node.beat(now=NOON + 41 * MINUTE)
    found = add_up(node)
    assert found.cost == Decimal("1.13")
    assert found.charged + found.idle - found.over_recovery == found.cost
    assert abs(found.rounding) <= Decimal("0.02")
    assert (found.quantities.cut, found.reserved) == (0, Decimal("0.00"))


def test_a_tenants_own_price_shows_as_discount(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    make_price("1.60", book_id=make_book(for_tenant_id=ada.tenant_id).pk)
    buy(ada, memory_mib=2500, share_permille=250)
    node.beat(now=NOON)
    found = add_up(node)
    assert (found.charged, found.discount, found.idle) == (Decimal("0.40"), Decimal("0.40"), Decimal("2.40"))


def test_borders_off_the_grid_are_cut_within_one_unit_a_line(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    row = buy(ada, memory_mib=2500, share_permille=250)
    node.beat(now=NOON)
    node.use_steadily(lease_of(row), since=NOON, until=NOON + 7 * MINUTE, permille=101)
    found = add_up(node, starts_at=NOON + 11 * MINUTE, ends_at=NOON + 37 * MINUTE)
    assert abs(found.quantities.cut) <= 2
    assert found.charged + found.idle - found.over_recovery == found.cost


def test_a_missing_charge_is_an_error_and_not_adjusted(node: Node, ada: Buyer) -> None:
    make_price("3.20")
    row = buy(ada, memory_mib=2500, share_permille=250)
    node.beat(now=NOON)
    Placement.objects.filter(reservation=row).delete()  # delivered, and nobody knows to whom: a fault of ours
    with pytest.raises(DoesNotAddUp):
        reconcile_device(device_id=node.device().id, starts_at=NOON, ends_at=NOON + HOUR, currency="EUR",
                         now=NOON + HOUR)  # fmt: skip


def test_a_period_that_is_not_over_or_has_no_price_is_refused(node: Node) -> None:
    with pytest.raises(WrongPeriod):
        add_up(node, now=NOON + MINUTE)
    with pytest.raises(WrongPeriod):
        add_up(node, starts_at=NOON + timedelta(seconds=0.5))
    with pytest.raises(NoPrice):
        add_up(node)


def test_an_idle_device_is_all_idle(node: Node) -> None:
    price = make_price("3.20")
    assert price.valid.upper is None
    assert money(add_up(node)) == ("0.00", "3.20", "0.00", "3.20")
    assert SINCE_EVER < NOON
