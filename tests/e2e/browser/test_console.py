"""The page itself: it loads under its policy, from its own site only, and a deep link finds its way."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from config.demo.cast import Tenant
from tests.e2e.browser.conftest import OpenPage, page_complaints

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def test_who_is_not_logged_in_is_asked_and_comes_back(open_page: OpenPage, tenant: Tenant) -> None:
    page = open_page("/offers")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.get_by_label("E-mail address").fill(tenant.email)
    page.get_by_role("textbox", name="Password").fill(tenant.password)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile(r"/offers$"))
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Log in")


def test_the_page_loads_under_its_policy(tenant_page: OpenPage) -> None:
    page = tenant_page("/offers")
    expect(page.locator("main")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page_complaints(page) == []


def test_a_session_that_was_ended_elsewhere_is_over_here(tenant_page: OpenPage, tenant: Tenant) -> None:
    page = tenant_page("/offers")
    mine = next(row["id"] for row in tenant.admin.rows("me/sessions"))
    tenant.admin.delete(f"me/sessions/{mine}")
    page.reload()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
