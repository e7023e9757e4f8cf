"""Every page, in both themes and on a phone: what axe says, and that nothing is broken or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from config.stack import Stack
from tests.e2e.browser.axe import grave_findings
from tests.e2e.browser.conftest import OpenPage, log_in, page_complaints
from tests.e2e.browser.places import PHONE, WIDE, places
from tests.e2e.browser.world import World, living_world

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
FLEET = 120  # more rows than a table draws at once
NOT_FOUND = "404"


@pytest.fixture(scope="module")
def world(stack: Stack) -> Iterator[World]:
    with living_world(stack, fleet=FLEET) as world:
        yield world


def visit(open_page: OpenPage, world: World, **look: Any) -> Iterator[tuple[str, Page]]:
    """Each place in turn, by who looks at it; one context for each of them."""
    pages: dict[str, Page] = {}
    tokens = {"tenant": world.tenant.admin.token, "operator": world.operator.token}
    for place in places(world):
        if place.who not in pages:
            pages[place.who] = open_page("/healthz", **look)
            if place.who in tokens:
                log_in(pages[place.who], token=tokens[place.who])
        page = pages[place.who]
        page.goto(place.address)
        expect(page.locator("main")).to_be_visible()
        expect(page.locator("main").get_by_role("heading").first).to_be_visible()
        page.wait_for_timeout(700)
        yield place.name, page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: OpenPage, world: World, theme: str) -> None:
    look = {**WIDE, "color_scheme": theme, "reduced_motion": "reduce"}
    found = {name: grave_findings(page) for name, page in visit(open_page, world, **look)}
    assert {name: findings for name, findings in found.items() if findings} == {}


def test_no_page_complains_or_scrolls_sideways_on_a_phone(open_page: OpenPage, world: World) -> None:
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
    found = {}
    for name, page in visit(open_page, world, **PHONE):
        complaints = [said for said in page_complaints(page) if NOT_FOUND not in said]
        page_complaints(page).clear()
        if complaints or page.evaluate(wide):
            found[name] = complaints or "wider than the phone"
    assert found == {}


def test_motion_is_off_for_who_asks(open_page: OpenPage, world: World) -> None:
    moving = """() => [...document.querySelectorAll('*')].filter((one) => {
        const style = getComputedStyle(one);
        return [style.transitionDuration, style.animationDuration].some(
            (value) => value.split(',').some((part) => parseFloat(part) > 0.01));
    }).length"""
    found = {name: page.evaluate(moving) for name, page in visit(open_page, world, **WIDE, reduced_motion="reduce")}
    assert {name: count for name, count in found.items() if count} == {}


def test_a_long_table_draws_what_is_in_sight(open_page: OpenPage, world: World) -> None:
    page = open_page("/healthz", **WIDE)
    log_in(page, token=world.operator.token)
    page.goto("/fleet?view=table")
    rows = page.get_by_role("grid").get_by_role("row")
    expect(rows.nth(10)).to_be_visible()
    assert rows.count() < FLEET
    rows.nth(1).focus()
    page.keyboard.press("End")
    expect(page.locator(f"[data-index='{FLEET}']")).to_be_focused()
