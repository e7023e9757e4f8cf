"""Every page, in both themes and on a phone: what axe says, and that nothing is broken or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from config.stack import Stack
from tests.e2e.browser.axe import grave_findings
from tests.e2e.browser.conftest import OpenPage, log_in, new_page, page_complaints
from tests.e2e.browser.places import PHONE, WIDE, places
from tests.e2e.browser.world import World, living_world

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
FLEET = 120  # more rows than a table draws at once
NOT_FOUND = "404"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# What sticks out to the right, once the page had time to be laid out anew; nothing where it all fits.
STICKS_OUT = """async () => {
    const root = document.documentElement;
    for (let tries = 0; tries < 50 && root.scrollWidth > root.clientWidth + 1; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 100));
    if (root.scrollWidth <= root.clientWidth + 1) return null;
    const out = [...document.querySelectorAll('body *')]
        .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1);
    const named = out.slice(0, 8).map((one) => `${one.tagName} ${one.className} ${one.textContent}`.slice(0, 120));
    return [`${root.scrollWidth} px wide`, ...named];
}"""
MOVING = """() => [...document.querySelectorAll('*')].filter((one) => {
    const style = getComputedStyle(one);
    return [style.transitionDuration, style.animationDuration].some(
        (value) => value.split(',').some((part) => parseFloat(part) > 0.01));
}).length"""


@pytest.fixture(scope="module")
def world(stack: Stack) -> Iterator[World]:
    with living_world(stack, fleet=FLEET) as world:
        yield world


@dataclass
class Seen:
    """What was found of each place, by its name."""

    axe: dict[str, list[str]] = field(default_factory=dict)
    moving: dict[str, int] = field(default_factory=dict)
    complaints: dict[str, list[str]] = field(default_factory=dict)
    wider_than_a_phone: dict[str, list[str]] = field(default_factory=dict)

    def look(self, name: str, page: Page) -> None:
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.wait_for_timeout(300)
            if found := grave_findings(page, only_colours=theme != THEMES[0]):
                self.axe[f"{name}, {theme}"] = found
        if moving := page.evaluate(MOVING):
            self.moving[name] = moving
        page.set_viewport_size(PHONE["viewport"])
        page.wait_for_timeout(200)
        if out := page.evaluate(STICKS_OUT):
            self.wider_than_a_phone[name] = out
        page.set_viewport_size(WIDE["viewport"])
        if said := [one for one in page_complaints(page) if NOT_FOUND not in one]:
            self.complaints[name] = said
        page_complaints(page).clear()


@pytest.fixture(scope="module")
def seen(chromium: Browser, stack: Stack, world: World) -> Iterator[Seen]:
    """Every place was looked at, in both themes and at a phone's width, by who looks at it."""
    found = Seen()
    pages: dict[str, Page] = {}
    tokens = {"tenant": world.tenant.admin.token, "operator": world.operator.token}
    for place in places(world):
        if place.who not in pages:
            pages[place.who] = new_page(chromium, stack.urls["web"], **WIDE)
            if place.who in tokens:
                log_in(pages[place.who], token=tokens[place.who])
        page = pages[place.who]
        page.goto(place.address)
        expect(page.locator("main").get_by_role("heading").first).to_be_visible()
        found.look(place.name, page)
    yield found
    for page in pages.values():
        page.context.close()


def test_axe_finds_nothing_serious_in_either_theme(seen: Seen) -> None:
    assert seen.axe == {}


def test_motion_is_off_for_who_asks(seen: Seen) -> None:
    assert seen.moving == {}


def test_no_page_scrolls_sideways_on_a_phone(seen: Seen) -> None:
    assert seen.wider_than_a_phone == {}


def test_the_browser_complains_of_no_page(seen: Seen) -> None:
    assert seen.complaints == {}


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
