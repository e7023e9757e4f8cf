"""From purchase to charge, on a real database, with a node that speaks through the allocator's own services."""

from __future__ import annotations

from decimal import Decimal

import pytest

from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace.models import ReservationEvent, ReservationState
from marketplace.services import offer_earlier, queue, rate, reconcile, release, resize
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.market import Wish

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


@pytest.fixture
def bo() -> Buyer:
    return make_buyer()


@pytest.fixture
def cy() -> Buyer:
    return make_buyer()


def charged(*reservations: object, kinds: tuple[str, ...] = ("used", "idle")) -> dict[str, Decimal]:
    sources = [lease_of(row) for row in reservations]  # type: ignore[arg-type]
    lines = billing.charged_lines(sources=sources, starts_at=NOON, ends_at=NOON + 24 * HOUR)
    return {kind: sum((line.amount for line in lines if line.kind == kind), Decimal(0)) for kind in kinds}


def test_a_quarter_for_an_hour_is_delivered_and_charged(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    assert fresh(row).state == ReservationState.ACTIVE
    node.use_steadily(lease_of(row), since=NOON, until=NOON + HOUR, permille=200)
    node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + HOUR)
    rate.rate_dirty(now=NOON + HOUR)
    assert fresh(row).state == ReservationState.COMPLETED
    assert charged(row) == {"used": Decimal("0.64"), "idle": Decimal("0.16")}
    states = list(ReservationEvent.objects.filter(reservation=row).order_by("version").values_list("to_state", flat=True))
    assert states == ["confirmed", "activating", "active", "ending", "completed"]


def test_c_is_told_when_and_what_would_fit_and_books_that(node: Node, ada: Buyer, bo: Buyer, cy: Buyer) -> None:
    buy(ada, ends_at=NOON + 2 * HOUR)
    buy(bo, memory_mib=4096, share_permille=500)
    with pytest.raises(DoesNotFit) as refused:
        buy(cy, memory_mib=4096, share_permille=500)
    said = refused.value.data
    assert said["next_free_at"] == NOON + HOUR
    assert said["constraints"] == {"memory_and_compute": 1}
    nearest = said["nearest"]
    assert isinstance(nearest, list)
    assert (nearest[0].memory_mib, nearest[0].share_permille) == (2048, 250)
    row = buy(cy, memory_mib=4096, share_permille=500, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    assert (row.state, row.starts_at) == (ReservationState.CONFIRMED, NOON + HOUR)
