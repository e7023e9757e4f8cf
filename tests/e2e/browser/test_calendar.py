"""Tomorrow, reserved by each of the four ways, and the days on which clocks change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from config.demo.cast import Tenant
from tests.e2e.browser.conftest import OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
BERLIN = ZoneInfo("Europe/Berlin")
RESERVE = re.compile(r"^Reserve for")


@pytest.fixture(autouse=True)
def cancelled(tenant: Tenant, price: dict[str, Any]) -> Iterator[None]:
    yield
    for row in tenant.admin.rows("reservations", state="live"):
        tenant.admin.post(f"reservations/{row['id']}/release")


@pytest.fixture
def tomorrow() -> datetime:
    """Midnight there."""
    return datetime.now(BERLIN).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


@pytest.fixture
def calendar(tenant_page: OpenPage, device: dict[str, Any], tomorrow: datetime) -> Callable[..., Page]:
    """``calendar(day)``: the day's calendar for an eighth of the device."""

    def show(day: datetime = tomorrow, **context: Any) -> Page:
        size = f"memory_mib={device['capacity_mib'] // 8}&share_permille=125"
        page = tenant_page(
            f"/calendar?date={day:%Y-%m-%d}&{size}", **{"viewport": {"width": 1440, "height": 900}, **context}
        )
        expect(page.get_by_role("treegrid")).to_be_visible()
        return page

    return show


def spot(row: Locator, hour: float) -> tuple[float, float]:
    """Where this hour lies in the row of the day that is shown."""
    row.scroll_into_view_if_needed()
    box = row.bounding_box()
    assert box
    return box["x"] + box["width"] * hour / 24, box["y"] + box["height"] / 2


def by_dragging(page: Page, row: Locator) -> None:
    page.mouse.move(*spot(row, 8.02))
    page.mouse.down()
    page.mouse.move(*spot(row, 8.5), steps=4)
    page.mouse.move(*spot(row, 8.98), steps=4)
    page.mouse.up()
    page.get_by_role("button", name=RESERVE).click()


def by_two_clicks(page: Page, row: Locator) -> None:
    page.mouse.click(*spot(row, 8.02))
    page.mouse.click(*spot(row, 8.98))
    page.get_by_role("button", name=RESERVE).click()


def by_the_form(page: Page, row: Locator) -> None:
    day = re.search(r"date=([\d-]+)", page.url)
    assert day
    page.get_by_label("Start", exact=True).fill(f"{day[1]}T08:00")
    page.get_by_label("End", exact=True).fill(f"{day[1]}T09:00")
    page.get_by_role("button", name=RESERVE).click()


def by_keys(page: Page, row: Locator) -> None:
    said = page.get_by_test_id("calendar-said")
    page.get_by_role("treegrid").focus()
    page.keyboard.press("ArrowRight")
    for _ in range(30):
        if re.search(r"08:00 ", said.inner_text()):
            break
        page.keyboard.press("PageDown")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    expect(said).to_contain_text("09:00")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=RESERVE)).to_be_focused()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("way", [by_dragging, by_two_clicks, by_the_form, by_keys])
def test_tomorrow_is_reserved(
    way: Callable[[Page, Locator], None],
    calendar: Callable[..., Page],
    tenant: Tenant,
    device: dict[str, Any],
    tomorrow: datetime,
) -> None:
    page = calendar()
    way(page, page.locator(f"[data-device='{device['id']}']"))
    expect(page.get_by_text("Reserved", exact=True)).to_be_visible()
    (row,) = tenant.admin.rows("reservations", state="live")
    assert datetime.fromisoformat(row["starts_at"]) == tomorrow + timedelta(hours=8)
    assert datetime.fromisoformat(row["ends_at"]) == tomorrow + timedelta(hours=9)
    assert row["slice"] == {"memory_mib": device["capacity_mib"] // 8, "share_permille": 125}


def test_a_night_shows_on_both_days(
    calendar: Callable[..., Page], tenant: Tenant, device: dict[str, Any], tomorrow: datetime
) -> None:
    night = tomorrow + timedelta(hours=22)
    tenant.admin.post("reservations", {
        "project": tenant.project, "slice": {"memory_mib": 64, "share_permille": 10}, "device": device["id"],
        "name": "Night shift", "starts_at": night.isoformat(), "ends_at": (night + timedelta(hours=4)).isoformat(),
    })  # fmt: skip
    for day in (tomorrow, tomorrow + timedelta(days=1)):
        expect(calendar(day).get_by_role("link", name=re.compile("^Night shift"))).to_be_visible()


@pytest.mark.parametrize(
    ("local", "answer"),
    [("2027-03-28T02:30", "jump over this time. The next is"), ("2027-10-31T02:30", "show this time twice")],
)
def test_an_hour_that_clocks_change_is_asked_about(calendar: Callable[..., Page], local: str, answer: str) -> None:
    page = calendar()
    page.get_by_label("Start", exact=True).fill(local)
    expect(page.get_by_text(re.compile(answer)).first).to_be_visible()
    expect(page.get_by_role("button", name=RESERVE)).to_be_hidden()
