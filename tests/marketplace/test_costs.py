"""What was spent: rows add up to totals and to invoices, days are the account's, and unknown is not zero."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from allocator import facade as allocator
from billing import facade as billing
from billing.models import Account
from marketplace.api.cost_views import csv_of, document
from marketplace.models import EVERYWHERE, Reach, Reservation
from marketplace.services import costs, rate, reconcile, reconcile_device, release
from marketplace.services.show import show_one
from tests.identity.factories import make_member, make_operator, make_project
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode
from vxpu.states import Quality

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture(autouse=True)
def long_windows(settings: Any) -> None:
    settings.VXPU_WINDOW_S = 600


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.fixture
def ada(node: Node) -> Buyer:
    return make_buyer()


def settle(node: Node, *, now: datetime) -> None:
    node.beat(now=now)
    reconcile.reconcile(now=now)
    rate.rate_dirty(now=now)


def run(node: Node, row: Reservation, *, hours: float = 1, permille: int | None = 200) -> None:
    """Use it from its start, steadily, and settle."""
    settle(node, now=row.starts_at)
    ends_at = row.starts_at + hours * HOUR
    node.use_steadily(lease_of(row), since=row.starts_at, until=ends_at, permille=permille)
    settle(node, now=ends_at)


def spent(buyer: Buyer, group: str = "project", **over: Any) -> costs.Costs:
    wanted: dict[str, Any] = {
        "tenant_id": buyer.tenant_id, "reach": Reach(tenant_id=buyer.tenant_id), "starts_at": NOON - HOUR,
        "ends_at": NOON + 24 * HOUR, "now": NOON + 24 * HOUR, **over,
    }  # fmt: skip
    return costs.costs(group=group, **wanted)


def figures(cost: costs.Cost) -> dict[str, str]:
    return {str(kind): str(amount) for kind, amount in cost.amounts.items() if amount}


def test_an_hour_of_a_quarter_is_used_and_idle(node: Node, ada: Buyer) -> None:
    run(node, buy(ada))
    found = spent(ada)
    (item,) = found.items
    assert (item.key, item.label) == (ada.project_name, ada.project.name)
    assert (figures(item), str(item.amount)) == ({"used": "0.6400", "idle": "0.1600"}, "0.8000")
    assert (item.allocated, item.quantity_of(costs.K.USED)) == (250 * 3600, 200 * 3600)
    assert item.quality == found.total.quality == Quality.MEASURED


def test_four_quarters_for_an_hour_are_exactly_one_device_hour(node: Node, ada: Buyer) -> None:
    """And what the device idles stands apart."""
    rows = [buy(make_buyer() if number else ada) for number in range(4)]
    settle(node, now=NOON)
    for number, row in enumerate(rows):
        node.use_steadily(lease_of(row), since=NOON, until=NOON + HOUR, permille=(250 if number == 0 else 0))
    settle(node, now=NOON + HOUR)
    lines = billing.charged_lines(sources=[lease_of(row) for row in rows], starts_at=NOON, ends_at=NOON + HOUR)
    assert sum(line.quantity for line in lines) == 1000 * 3600
    assert {(line.kind, line.quantity) for line in lines} == {("used", 250 * 3600), ("idle", 250 * 3600)}
    assert len([line for line in lines if line.kind == "idle"]) == 3
    found = reconcile_device.reconcile_device(
        device_id=node.device().id, starts_at=NOON, ends_at=NOON + 2 * HOUR, currency="EUR", now=NOON + 2 * HOUR
    )
    assert (found.quantities.charged, found.quantities.idle, found.quantities.over) == (3_600_000, 3_600_000, 0)
    assert (str(found.charged), str(found.idle), str(found.cost)) == ("3.20", "3.20", "6.40")
    assert spent(ada).total.allocated == 250 * 3600


@pytest.mark.parametrize("group", costs.GROUPS)
def test_every_grouping_has_the_same_total(node: Node, ada: Buyer, group: str) -> None:
    make_price("0.0000010007", sku="gpu")
    other = make_project(by=ada.person)
    for number, share in enumerate((101, 77, 333)):
        buy(ada, share_permille=share, memory_mib=7 + number, project_id=(other.pk if number else ada.project.pk))
    settle(node, now=NOON)
    settle(node, now=NOON + 7 * HOUR)
    found = spent(ada, group)
    by_project = spent(ada, "project")
    assert len(by_project.items) == 2
    assert found.total == by_project.total
    for kind in costs.K:
        assert sum((item.amounts[kind] for item in found.items), Decimal(0)) == found.total.amounts[kind]
        assert sum(item.quantities[kind] for item in found.items) == found.total.quantities[kind]


def test_an_invoiced_period_equals_its_invoice(node: Node, ada: Buyer) -> None:
    run(node, buy(ada, share_permille=333), permille=100)
    run(node, buy(ada, share_permille=77, memory_mib=1, starts_at=NOON + HOUR, ends_at=NOON + 3 * HOUR), hours=2)
    invoice = billing.close_period(
        tenant_id=ada.tenant_id, starts_at=NOON, ends_at=NOON + 6 * HOUR, now=NOON + 30 * HOUR
    )
    for group in costs.GROUPS:
        found = spent(ada, group, starts_at=NOON, ends_at=NOON + 6 * HOUR)
        assert found.total.invoiced == invoice.total
        assert sum((item.invoiced for item in found.items), Decimal(0)) == invoice.total
    by_reservation = spent(ada, "reservation", starts_at=NOON, ends_at=NOON + 6 * HOUR)
    sums: dict[str, Decimal] = {}
    for line in invoice.lines:
        name = line.text.split(":")[0]
        sums[name] = sums.get(name, Decimal(0)) + line.amount
    assert {item.key: item.invoiced for item in by_reservation.items} == sums


def test_a_line_over_two_days_is_shared_without_losing_a_cent(node: Node, ada: Buyer) -> None:
    buy(ada, ends_at=NOON + 24 * HOUR, share_permille=333)
    for hour in range(25):
        settle(node, now=NOON + hour * HOUR)
    invoice = billing.close_period(
        tenant_id=ada.tenant_id, starts_at=NOON, ends_at=NOON + 24 * HOUR, now=NOON + 99 * HOUR
    )
    found = spent(ada, "day", starts_at=NOON - 12 * HOUR, ends_at=NOON + 36 * HOUR)
    assert [(item.key, bool(item.invoiced)) for item in found.items] == [("2026-12-01", True), ("2026-12-02", True)]
    assert found.total.invoiced == invoice.total == sum((item.invoiced for item in found.items), Decimal(0))
    assert found.items[0].allocated == found.items[1].allocated == 333 * 12 * 3600
    half = spent(ada, "project", starts_at=NOON, ends_at=NOON + 12 * HOUR).total.invoiced
    assert abs(half * 2 - invoice.total) <= Decimal("0.02")


def test_a_use_that_cannot_be_read_is_not_zero(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    run(node, row, permille=None)
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert [(line.kind, line.quantity, str(line.amount)) for line in lines] == [("delivered", 250 * 3600, "0.80")]
    (item,) = document(spent(ada))["items"]
    assert (item["quality"], item["amount"], item["amount_unread"]) == ("unavailable", "0.8000", "0.8000")
    assert [item[name] for name in ("amount_used", "amount_idle", "used_permille_s", "idle_permille_s")] == [None] * 4
    told = next(csv.DictReader(io.StringIO(csv_of(document(spent(ada))))))
    assert (told["amount_used"], told["used_permille_s"], told["amount"]) == ("n/a", "n/a", "0.8000")
    found = reconcile_device.reconcile_device(
        device_id=node.device().id, starts_at=NOON, ends_at=NOON + HOUR, currency="EUR", now=NOON + HOUR
    )
    assert (found.quantities.charged, found.quantities.idle) == (250 * 3600, 750 * 3600)


def test_a_part_that_cannot_be_read_stands_apart(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON)
    node.use_steadily(lease_of(row), since=NOON, until=NOON + 20 * MINUTE, permille=200)
    node.use_steadily(lease_of(row), since=NOON + 20 * MINUTE, until=NOON + 50 * MINUTE, permille=None)
    node.use_steadily(lease_of(row), since=NOON + 50 * MINUTE, until=NOON + HOUR, permille=250)
    settle(node, now=NOON + HOUR)
    (item,) = spent(ada).items
    assert item.quantities == {
        costs.K.USED: 200 * 1200 + 250 * 600, costs.K.IDLE: 50 * 1200, costs.K.DELIVERED: 250 * 1800,
        costs.K.RESERVED: 0,
    }  # fmt: skip
    assert (item.quality, item.allocated, str(item.amount)) == (Quality.ESTIMATED, 250 * 3600, "0.8000")
    report = allocator.usage_report(lease_id=lease_of(row))
    assert report.used_permille_s == 200 * 1200 + 250 * 600
    assert report.windows[2].used_permille_s is None


@pytest.mark.parametrize(("day", "hours"), [("2027-03-28", 23), ("2026-10-25", 25), ("2026-12-01", 24)])
def test_a_day_has_the_hours_that_it_has(day: str, hours: int) -> None:
    """Billed seconds are elapsed seconds, also where the clocks change."""
    midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    first, last = midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC)
    make_price("3.20", valid_from=first - 365 * 24 * HOUR)
    node, ada = Node(now=first - 2 * HOUR), make_buyer(now=first - 2 * HOUR)
    Account.objects.filter(tenant_id=ada.tenant_id).update(zone="Europe/Berlin")
    row = buy(ada, now=first - 2 * HOUR, starts_at=first - HOUR, ends_at=last + HOUR)
    for hour in range(hours + 3):
        settle(node, now=first + (hour - 1) * HOUR)
    found = spent(ada, "day", starts_at=first - 24 * HOUR, ends_at=last + 24 * HOUR, now=last + 24 * HOUR)
    assert [item.allocated // 250 for item in found.items] == [3600, hours * 3600, 3600]
    assert found.items[1].key == day
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=first, ends_at=last)
    assert sum(line.quantity for line in lines) == 250 * hours * 3600


def test_what_runs_is_an_estimate_and_what_has_ended_is_not(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON)
    half = show_one(fresh(row), now=NOON + 30 * MINUTE).cost
    assert half is not None
    assert (str(half.amount), half.quality, half.currency) == ("0.4000", Quality.ESTIMATED, "EUR")
    assert spent(ada, now=NOON + 30 * MINUTE).items == []
    settle(node, now=NOON + HOUR)
    whole = show_one(fresh(row), now=NOON + 2 * HOUR).cost
    assert whole is not None
    assert (str(whole.amount), whole.quality) == ("0.8000", Quality.MEASURED)


def test_what_was_booked_and_not_delivered_stands_apart(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON + 15 * MINUTE)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + 45 * MINUTE)
    settle(node, now=NOON + 45 * MINUTE)
    settle(node, now=NOON + 2 * HOUR)
    (item,) = spent(ada).items
    assert (item.quantities[costs.K.IDLE], item.quantities[costs.K.RESERVED]) == (250 * 1800, 250 * 1800)
    assert (str(item.amount), str(item.amounts[costs.K.RESERVED]), item.allocated) == ("0.4000", "0.0000", 250 * 1800)


def ask(buyer: Buyer, path: str = "costs", **over: Any) -> Any:
    wanted = {"from": "2026-12-01T00:00:00Z", "to": "2026-12-03T00:00:00Z", **over}
    return buyer.get(f"{path}?{urlencode(wanted)}")


def test_the_door_and_its_csv_show_the_same_figures(node: Node, ada: Buyer) -> None:
    buy(ada, name="=cmd|' /C calc'!A0")
    settle(node, now=NOON)
    settle(node, now=NOON + HOUR)
    answer, file = ask(ada, group="reservation"), ask(ada, "costs.csv", group="reservation")
    found = answer.json()
    assert (answer.status_code, file.status_code, file["Content-Type"]) == (200, 200, "text/csv; charset=utf-8")
    assert file["Content-Disposition"] == 'attachment; filename="costs-2026-12-01-2026-12-03-reservation.csv"'
    rows = list(csv.DictReader(io.StringIO(file.content.decode())))
    assert [row["reservation"] for row in rows] == [found["items"][0]["key"], "total"]
    for row, item in zip(rows, [*found["items"], found["total"]], strict=True):
        assert {name: row[name] for name in item if name not in {"key", "label"}} == {
            name: str(value) for name, value in item.items() if name not in {"key", "label"}
        }
    assert rows[0]["label"] == "'=cmd|' /C calc'!A0"
    assert (found["from"], found["currency"], found["total"]["amount"]) == ("2026-12-01T00:00:00Z", "EUR", "0.8000")


def test_each_sees_his_own_costs(node: Node, ada: Buyer) -> None:
    run(node, buy(ada))
    other = make_project(by=ada.person)
    member = Buyer(make_member(by=ada.person, project=other), other)
    assert ask(member).json()["items"] == []
    assert ask(Buyer(make_member(by=ada.person, role="finance"), other)).json()["total"]["amount"] == "0.8000"
    mine = Buyer(make_member(by=ada.person, project=ada.project), other)
    assert ask(mine).json()["total"]["amount"] == "0.8000"
    name = encode("ten", ada.tenant_id)
    assert ask(make_buyer(), tenant=name).status_code == 404
    assert ask(Buyer(make_operator(), other), tenant=name).json()["total"]["amount"] == "0.8000"


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"from": "2026-12-01T00:00:00"}, 400, "invalid_input"), ({"from": "x"}, 400, "invalid_input"),
        ({"to": "2026-12-01T00:00:00Z"}, 422, "wrong_period"), ({"to": "2028-12-01T00:00:00Z"}, 422, "wrong_period"),
        ({"group": "mood"}, 400, "invalid_input"), ({"tenant": "ten_x"}, 400, "invalid_input"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["costs", "costs.csv"])
def test_a_bad_question_is_refused(ada: Buyer, over: dict[str, Any], status: int, code: str, path: str) -> None:
    answer = ask(ada, path, **over)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()
