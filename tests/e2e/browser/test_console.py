"""The page itself: it loads under its policy, from its own site only, and a deep link finds its way."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.conftest import OpenPage, page_complaints

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def test_nobody_is_asked_to_log_in(open_page: OpenPage) -> None:
    page = open_page("/")
    expect(page).to_have_title("vXPU Market")
    expect(page.locator("input[type=password]")).to_be_visible()


def test_the_page_loads_under_its_policy(tenant_page: OpenPage) -> None:
    page = tenant_page("/offers")
    expect(page.locator("main")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page_complaints(page) == []
