"""Room that is kept for a wish that waits: who wants more of what he has goes beside it, as a purchase does."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from allocator.errors import DoesNotFit
from marketplace.models import EVERYWHERE, Reservation, ScaleDecision
from marketplace.services import (
    change_quote,
    extend,
    offer_earlier,
    queue,
    reconcile,
    resize,
    scale,
    scale_rules,
    start_earlier,
)
from tests.marketplace.factories import HOUR, MINUTE, NOON, buy, fresh, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.slices import Slice

pytestmark = pytest.mark.usefixtures("system")
HALF: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


@pytest.fixture
def node() -> Node:
    make_price()
    return Node(now=NOON)


def who(row: Reservation, *, now: datetime = NOON) -> dict[str, Any]:
    return {"reach": EVERYWHERE, "reservation_id": row.pk, "actor": "user:test", "now": now}


def head(**over: Any) -> Reservation:
    """A wish that waits, with the room that the first look at the line keeps for it."""
    row = buy(make_buyer(), queue=True, **{**WHOLE, **over})
    queue.place_queued(now=NOON)
    return fresh(row)


def test_an_extension_into_kept_room_is_refused_and_says_until_when(node: Node) -> None:
    row, until = buy(make_buyer(), **HALF), NOON + 90 * MINUTE
    buy(make_buyer(), **HALF, ends_at=until)
    assert head().planned_start_at == until
    with pytest.raises(DoesNotFit, match=re.escape(f"up to {until.isoformat()} would do")) as refused:
        extend.extend(**who(row), ends_at=NOON + 2 * HOUR)
    assert refused.value.data["constraints"] == {"kept_for_queue": 1}
    assert "Nothing changed" in refused.value.suggestion
    wanted: dict[str, Any] = {"reach": EVERYWHERE, "reservation_id": row.pk, "now": NOON}
    told = change_quote.quote_extension(**wanted, ends_at=None).refused
    assert isinstance(told, DoesNotFit)
    assert told.data["constraints"] == {"kept_for_queue": 1}
    assert extend.extend(**who(row), ends_at=until).ends_at == until


def test_what_is_taken_is_said_before_what_is_kept(node: Node) -> None:
    row = buy(make_buyer(), memory_mib=2048, share_permille=250, ends_at=NOON + 3 * HOUR)
    buy(make_buyer(), **HALF)
    head(memory_mib=4096, share_permille=500)
    with pytest.raises(DoesNotFit) as refused:
        resize.resize(**who(row), memory_mib=6144, share_permille=750)
    assert refused.value.data["constraints"] != {"kept_for_queue": 1}
    assert resize.resize(**who(row), **HALF).share_permille == 500


def test_a_growth_on_a_device_that_is_collected_is_refused_and_a_shrink_is_not(node: Node) -> None:
    row = buy(make_buyer(), **HALF, ends_at=None)
    buy(make_buyer(), memory_mib=2048, share_permille=250, ends_at=None)
    waiting = head(queued_until=NOON + 48 * HOUR)
    later = NOON + timedelta(seconds=settings.VXPU_QUEUE_ELDER_S)
    queue.place_queued(now=later)
    assert fresh(waiting).planned_device_id == node.device().id
    with pytest.raises(DoesNotFit) as refused:
        resize.resize(**who(row, now=later), memory_mib=4096, share_permille=600)
    assert refused.value.data["constraints"] == {"kept_for_queue": 1}
    assert refused.value.data["nearest"] == []
    assert resize.resize(**who(row, now=later), memory_mib=4096, share_permille=400).share_permille == 400
    assert extend.extend(**who(row, now=later), ends_at=later + HOUR).ends_at == later + HOUR


def test_a_growth_into_kept_room_is_refused_and_says_what_fits_beside_it(node: Node) -> None:
    row = buy(make_buyer(), memory_mib=2048, share_permille=250, ends_at=NOON + 3 * HOUR)
    buy(make_buyer(), memory_mib=6144, share_permille=700)
    assert head(memory_mib=4096, share_permille=700).planned_start_at == NOON + HOUR
    with pytest.raises(DoesNotFit) as refused:
        resize.resize(**who(row, now=NOON + HOUR), memory_mib=2048, share_permille=400)
    assert refused.value.data["constraints"] == {"kept_for_queue": 1}
    nearest: Any = refused.value.data["nearest"]
    assert nearest[0] == Slice(memory_mib=2048, share_permille=300)
    assert resize.resize(**who(row, now=NOON + HOUR), memory_mib=2048, share_permille=300).share_permille == 300


def test_a_rule_does_not_grow_into_kept_room(node: Node) -> None:
    row = buy(make_buyer(), memory_mib=2048, share_permille=250, ends_at=NOON + 3 * HOUR)
    buy(make_buyer(), memory_mib=6144, share_permille=700)
    head(memory_mib=4096, share_permille=700)
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    size = {"memory_mib": 2048, "share_permille": 400}
    part: dict[str, Any] = {"zone": None, "windows": [], "otherwise": size}
    values = {"kind": "schedule", "enabled": True, "min": size, "max": size, "cool_down_s": 0, "schedule": part}
    scale_rules.create_rule(**who(row), values={"load": None, "progress": None, **values})
    assert scale.apply_rules(now=NOON + MINUTE) == 0
    decided = [(one.code, one.from_permille, one.to_permille) for one in ScaleDecision.objects.all()]
    assert decided == [("no_capacity", 250, 400)]


def test_an_earlier_start_goes_beside_kept_room_and_is_not_offered_into_it(node: Node) -> None:
    buy(make_buyer(), **HALF)
    row = buy(make_buyer(), **HALF, starts_at=NOON + 4 * HOUR, ends_at=NOON + 6 * HOUR)
    assert head(starts_at=None, ends_at=NOON + 3 * HOUR).planned_start_at == NOON + HOUR
    with pytest.raises(DoesNotFit) as refused:
        start_earlier.start_earlier(**who(row))
    assert refused.value.data["constraints"] == {"kept_for_queue": 1}
    offer_earlier.offer_earlier(now=NOON)
    assert fresh(row).earlier_start_at is None
