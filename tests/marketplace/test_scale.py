"""A running slice grows and shrinks by rule, without a restart; what cannot be is on record and tried again later."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from marketplace.errors import WrongState
from marketplace.models import EVERYWHERE, Reservation, ReservationState, ScaleRule
from marketplace.selectors.scaling import list_decisions
from marketplace.services import reconcile, release, scale, scale_rules
from plumbing.errors import NotFound
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, make_buyer, make_price
from tests.marketplace.node import Node

pytestmark = pytest.mark.usefixtures("system")
SECOND = timedelta(seconds=1)
QUARTER: dict[str, int] = {"memory_mib": 2048, "share_permille": 250}
HALF: dict[str, int] = {"memory_mib": 4096, "share_permille": 500}
MOST: dict[str, int] = {"memory_mib": 8192, "share_permille": 1000}
LOAD = {"signal": "queue_depth", "grow_at": 10, "shrink_at": 2, "step": QUARTER}


@pytest.fixture
def node() -> Node:
    make_price()
    return Node(now=NOON)


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


@pytest.fixture
def row(node: Node, ada: Buyer) -> Reservation:
    """A quarter that runs since noon, for a day."""
    made = buy(ada, ends_at=NOON + 24 * HOUR)
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    return fresh(made)


def make_rule(row: Reservation, kind: str, part: dict[str, Any], **over: Any) -> ScaleRule:
    values = {
        "kind": kind, "enabled": True, "min": QUARTER, "max": MOST, "cool_down_s": 300, "schedule": None,
        "load": None, "progress": None, kind: part, **over,
    }  # fmt: skip
    return scale_rules.create_rule(reach=EVERYWHERE, reservation_id=row.pk, values=values, actor="user:test", now=NOON)


def tell(row: Reservation, now: datetime, *, checkpointed: bool = False, **signals: int) -> None:
    scale_rules.tell(reach=EVERYWHERE, reservation_id=row.pk, signals=signals, checkpointed=checkpointed, now=now)


def share(row: Reservation) -> int:
    return fresh(row).share_permille


def decided(row: Reservation) -> list[tuple[str, str, str, int]]:
    found = list_decisions(reservation_id=row.pk).order_by("at", "id")
    return [(one.outcome, one.reason, one.code, one.to_permille) for one in found]


def test_a_full_queue_grows_it_and_an_empty_one_shrinks_it_after_the_cool_down(row: Reservation, node: Node) -> None:
    make_rule(row, "load", LOAD)
    assert scale.apply_rules(now=NOON + MINUTE) == 0
    tell(row, NOON + MINUTE, queue_depth=50)
    assert scale.apply_rules(now=NOON + MINUTE) == 1
    assert (share(row), fresh(row).state, fresh(row).lease_id) == (500, ReservationState.ACTIVE, row.lease_id)
    assert scale.apply_rules(now=NOON + MINUTE + 299 * SECOND) == 0
    tell(row, NOON + 6 * MINUTE, queue_depth=0)
    assert scale.apply_rules(now=NOON + 6 * MINUTE) == 1
    assert (share(row), scale.apply_rules(now=NOON + HOUR)) == (250, 0)
    assert decided(row) == [("applied", "load_high", "", 500), ("applied", "load_low", "", 250)]
    node.beat(now=NOON + 7 * MINUTE)
    assert [one.slice.share_permille for one in node.running.values()] == [250]


def test_an_old_word_of_the_load_says_nothing(row: Reservation) -> None:
    make_rule(row, "load", LOAD)
    tell(row, NOON, queue_depth=50)
    assert scale.apply_rules(now=NOON + 301 * SECOND) == 0


def test_by_day_large_in_the_zone_of_the_account(row: Reservation) -> None:
    window = {"days": [0, 1, 2, 3, 4], "from": "13:00", "to": "15:00", "slice": HALF}
    rule = make_rule(row, "schedule", {"windows": [window], "otherwise": QUARTER})
    assert rule.definition["zone"] == "UTC"
    sizes = []
    for minutes in (59, 60, 179, 180):
        scale.apply_rules(now=NOON + minutes * MINUTE)
        sizes.append(share(row))
    assert sizes == [250, 500, 500, 250]


def test_the_epochs_have_their_sizes(row: Reservation) -> None:
    make_rule(row, "progress", {"steps": [{"epoch": 3, "slice": HALF}]}, cool_down_s=0)
    for epoch, wanted in ((2, 250), (3, 500)):
        tell(row, NOON + MINUTE, epoch=epoch)
        scale.apply_rules(now=NOON + epoch * HOUR)
        assert share(row) == wanted


def test_what_does_not_fit_is_on_record_and_tried_again_later_and_later(row: Reservation, node: Node) -> None:
    make_rule(row, "progress", {"steps": [{"epoch": 0, "slice": MOST}]})
    other = buy(make_buyer(), starts_at=NOON, ends_at=NOON + 24 * HOUR)
    tell(row, NOON, epoch=1)
    beats = [scale.apply_rules(now=NOON + MINUTE + 15 * n * SECOND) for n in range(9)]
    assert beats == [0] * 9
    assert decided(row) == [("refused", "epoch", "no_capacity", 1000)] * 3
    release.release(reach=EVERYWHERE, reservation_id=other.pk, actor="user:test", now=NOON + 4 * MINUTE)
    node.beat(now=NOON + 4 * MINUTE)
    assert scale.apply_rules(now=NOON + 30 * MINUTE) == 1
    assert share(row) == 1000


def test_held_back_at_its_share_it_grows(row: Reservation, node: Node) -> None:
    from allocator.models import UsageWindow

    make_rule(row, "load", {**LOAD, "signal": "throttle", "grow_at": 300, "shrink_at": 50})
    assert row.lease_id is not None
    node.use(row.lease_id, window_start=NOON + MINUTE, used_permille_s=15_000, now=NOON + 2 * MINUTE)
    UsageWindow.objects.filter(lease_id=row.lease_id).update(throttled_ms=18_000)
    assert scale.apply_rules(now=NOON + 2 * MINUTE) == 0
    UsageWindow.objects.filter(lease_id=row.lease_id).update(throttled_ms=24_000)
    assert scale.apply_rules(now=NOON + 2 * MINUTE) == 1
    assert share(row) == 500


def test_a_rule_that_is_off_or_gone_decides_nothing(row: Reservation) -> None:
    rule = make_rule(row, "progress", {"steps": [{"epoch": 0, "slice": HALF}]}, enabled=False)
    tell(row, NOON, epoch=1)
    assert scale.apply_rules(now=NOON + MINUTE) == 0
    scale_rules.delete_rule(reach=EVERYWHERE, reservation_id=row.pk, rule_id=rule.pk)
    with pytest.raises(NotFound):
        scale_rules.delete_rule(reach=EVERYWHERE, reservation_id=row.pk, rule_id=rule.pk)


def test_impossible_rules_and_what_has_ended_are_refused(row: Reservation, node: Node) -> None:
    for part in ({**LOAD, "shrink_at": 10}, {**LOAD, "step": {"memory_mib": 0, "share_permille": 0}}):
        with pytest.raises(scale_rules.WrongRule):
            make_rule(row, "load", part)
    with pytest.raises(scale_rules.WrongRule):
        make_rule(row, "load", LOAD, min=MOST, max=QUARTER)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + MINUTE)
    node.beat(now=NOON + MINUTE)
    reconcile.reconcile(now=NOON + MINUTE)
    with pytest.raises(WrongState):
        tell(row, NOON + MINUTE, epoch=1)


def test_the_doors(row: Reservation, ada: Buyer) -> None:
    from vxpu.ids import encode

    path = f"reservations/{encode('rsv', row.pk)}"
    body = {"kind": "load", "min": QUARTER, "max": MOST, "cool_down_s": 60, "load": LOAD}
    made = ada.post(f"{path}/scale-rules", body)
    assert (made.status_code, made.data["load"], made.data["schedule"]) == (201, LOAD, None)
    assert ada.post(f"{path}/scale-rules", {**body, "progress": {"steps": []}}).status_code == 400
    assert ada.post(f"{path}/scale-rules", {**body, "max": {**MOST, "share_permille": 1001}}).status_code == 422
    listed = ada.get(f"{path}/scale-rules").data["items"]
    assert [one["id"] for one in listed] == [made.data["id"]]
    assert ada.post(f"{path}/signals", {"queue_depth": 7, "checkpointed": True}).status_code == 204
    assert ada.get(path).data["checkpointed_at"] is not None
    address = f"/api/v1/{path}/scale-rules/{made.data['id']}"
    client = ada.person.client
    assert client.put(address, {**body, "enabled": False}, format="json").data["enabled"] is False
    assert client.delete(address).status_code == 204
    assert ada.get(f"{path}/scale-decisions").data["items"] == []
    assert make_buyer().get(f"{path}/scale-rules").status_code == 404
