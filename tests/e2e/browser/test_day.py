"""A tenant's day in a real browser, on real leases of the OpenCL device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from config.demo.cast import Tenant, put_on_the_shelf
from config.demo.rest import Api
from config.demo.stage import wait_until
from config.stack import Stack
from tests.e2e.browser.conftest import OpenPage, page_complaints
from tests.e2e.conftest import StartGuest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
SOON_MS = 30_000
A_MINUTE, A_MOMENT = "began < 60:", "began < 5:"
LEASE_PAGE = re.compile(r"/reservations/(rsv_\w+)$")


@pytest.fixture(autouse=True)
def shelf(operator: Api, device: dict[str, Any], price: dict[str, Any]) -> None:
    put_on_the_shelf(operator, device)


@pytest.fixture(autouse=True)
def given_back(tenant: Tenant) -> Iterator[None]:
    """What a story leaves running is released after it."""
    yield
    left = tenant.admin.rows("reservations", state="live")
    for row in left:
        tenant.admin.post(f"reservations/{row['id']}/release")
    for row in left:
        wait_until(
            lambda name=row["id"]: tenant.admin.get(f"reservations/{name}"),  # type: ignore[misc]
            lambda seen: seen["lease"] is None or seen["lease"]["state"] in {"gone", "lost"},
            what="the lease is gone",
            timeout_s=30,
        )


def reserve_button(page: Page) -> Locator:
    """Ready to be pressed: the quote of what is chosen has come."""
    button = page.get_by_role("button", name="Reserve", exact=True)
    expect(button).to_have_attribute("aria-disabled", "false")
    return button


def bought(page: Page) -> str:
    """The reservation whose page the browser was led to."""
    expect(page).to_have_url(LEASE_PAGE)
    found = LEASE_PAGE.search(page.url)
    assert found
    return found[1]


def lease_of(tenant: Tenant, reservation: str) -> str:
    return str(tenant.admin.get(f"reservations/{reservation}")["lease"]["id"])


def wait_ready(page: Page) -> None:
    """The page says what to paste once the slice is real."""
    expect(page.locator("pre").filter(has_text="vxpu exec").first).to_be_visible(timeout=SOON_MS)


def chart(page: Page, metric: str, value: str) -> Locator:
    """The live chart of a metric while its newest value looks like this."""
    return page.get_by_role("img", name=re.compile(rf"^{metric}, the last five minutes: {value}"))


def test_from_the_log_in_to_the_bill(
    open_page: OpenPage, tenant: Tenant, device: dict[str, Any], start_guest: StartGuest
) -> None:
    page = open_page("/")
    page.get_by_label("E-mail address").fill(tenant.email)
    page.get_by_role("textbox", name="Password").fill(tenant.password)
    page.get_by_role("button", name="Log in", exact=True).click()

    page.get_by_role("link", name="Reserve a slice").first.click()
    page.get_by_role("button", name="1/4", exact=True).click()
    reserve_button(page).click()
    reservation = bought(page)
    wait_ready(page)

    guest = start_guest(lease_of(tenant, reservation), "saturate", "--seconds", "300")
    expect(chart(page, "Compute", "[1-9]")).to_be_visible(timeout=SOON_MS)
    expect(chart(page, "Memory", "[1-9]")).to_be_visible()

    page.get_by_role("button", name="Resize", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Compute in % of the device").fill("12.5")
    dialog.get_by_label("Memory in MiB").fill(str(device["capacity_mib"] // 8))
    expect(dialog.get_by_text(re.compile(r"^[^\d+][\d.]+\sEUR")).first).to_be_visible()  # less to pay
    dialog.get_by_role("button", name=re.compile("^Resize to")).click()
    expect(dialog).to_be_hidden()
    wait_until(lambda: tenant.admin.get(f"reservations/{reservation}")["slice"]["share_permille"],
               lambda share: share == 125, what="the resize", timeout_s=10)  # fmt: skip
    assert guest.process.poll() is None, "a resize ends no program"

    page.get_by_role("button", name="Release", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Release", exact=True).click()
    expect(page.get_by_text(re.compile("^Ended")).first).to_be_visible(timeout=SOON_MS)

    page.goto("/cost")
    expect(page.get_by_role("main").get_by_text(re.compile(r"[1-9][\d.]*\sEUR$")).first).to_be_visible()
    # Who is not logged in yet is asked to, by a 401 that the browser notes.
    assert [said for said in page_complaints(page) if "401" not in said] == []


def test_what_the_page_gives_to_paste_runs_as_pasted(tenant_page: OpenPage, tenant: Tenant, stack: Stack) -> None:
    page = tenant_page("/reserve")
    page.get_by_role("button", name="1/8", exact=True).click()
    reserve_button(page).click()
    bought(page)
    wait_ready(page)
    lines = [text.strip() for text in page.locator("pre").all_inner_texts()]
    pasted = next(line for line in lines if line.startswith("vxpu exec") and "python" in line)
    assert A_MINUTE in pasted
    pasted = pasted.replace(A_MINUTE, A_MOMENT)  # nothing else of it is touched
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "VXPU_SERVER": stack.urls["web"], "VXPU_TOKEN": tenant.admin.token}
    ran = subprocess.run(
        ["bash", "-c", pasted], env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert ran.returncode == 0, f"{pasted}\n{ran.stdout}\n{ran.stderr}"


class Network:
    """The page's way to the site. The browser's own offline switch leaves an open WebSocket alone; this does not."""

    def __init__(self, page: Page) -> None:
        self._page, self._lines, self._is_cut = page, list[WebSocketRoute](), False
        page.route_web_socket(re.compile("/api/v1/live"), self._connect)

    def _connect(self, line: WebSocketRoute) -> None:
        if self._is_cut:
            line.close(code=1006)
        else:
            line.connect_to_server()
            self._lines.append(line)

    def cut(self) -> None:
        self._is_cut = True
        self._page.context.set_offline(True)
        for line in self._lines:
            line.close(code=1001)

    def mend(self) -> None:
        self._is_cut = False
        self._page.context.set_offline(False)


def test_the_network_goes_and_comes_back(tenant_page: OpenPage, tenant: Tenant) -> None:
    page = tenant_page("/reserve")
    network = Network(page)
    page.get_by_role("button", name="1/8", exact=True).click()
    reserve_button(page).click()
    reservation = bought(page)
    page.reload()  # the socket of the first page was opened before we stood in its way
    expect(chart(page, "Compute", r"\d")).to_be_visible(timeout=SOON_MS)

    network.cut()
    lost = page.get_by_text("No live connection: what you see is old")
    expect(lost).to_be_visible(timeout=SOON_MS)
    tenant.admin.post(f"reservations/{reservation}/release")
    network.mend()
    expect(lost).to_be_hidden(timeout=60_000)
    # What happened meanwhile is there, without a reload.
    expect(page.get_by_text(re.compile("^Ended")).first).to_be_visible(timeout=SOON_MS)


def test_a_revoked_log_in_is_out_within_thirty_seconds(tenant_page: OpenPage, tenant: Tenant) -> None:
    made = tenant.admin.post("tokens", {"name": "tab", "scopes": ["reservation:write", "lease:write", "identity:read"],
                                        "expires_at": _tomorrow()})  # fmt: skip
    page = tenant_page("/", token=made["secret"])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    began = time.monotonic()
    answer = page.context.request.delete(
        f"/api/v1/tokens/{made['token']['id']}", headers={"Authorization": f"Bearer {tenant.admin.token}"}
    )
    assert answer.status == 204
    expect(page.get_by_label("Personal token").or_(page.get_by_label("E-mail address"))).to_be_visible(timeout=30_000)
    assert time.monotonic() - began < 30
    assert page.context.request.get("/api/v1/me").status == 401


def test_two_tabs_race_for_the_last_quarter(tenant_page: OpenPage, tenant: Tenant, device: dict[str, Any]) -> None:
    half = {"memory_mib": device["capacity_mib"] // 2, "share_permille": 500}
    tenant.admin.post("reservations", {"project": tenant.project, "slice": half, "device": device["id"]})
    tabs = [tenant_page("/reserve"), tenant_page("/reserve")]
    for tab in tabs:
        tab.get_by_role("button", name="1/4", exact=True).click()
    buttons = [reserve_button(tab) for tab in tabs]
    for button in buttons:
        button.click()
    winner = next(tab for tab in tabs if _settled(tab) == "bought")
    loser = next(tab for tab in tabs if tab is not winner)
    assert _settled(loser) == "taken"
    # A "no" comes with a way: at least one that one click takes.
    ways = loser.get_by_role("group", name="What fits").or_(loser.get_by_role("list", name="What fits"))
    expect(ways.get_by_role("button").first).to_be_visible()
    live = tenant.admin.rows("reservations", state="live")
    assert sorted(row["slice"]["share_permille"] for row in live) == [250, 500]


def _settled(tab: Page) -> str:
    taken = tab.get_by_text("It was taken while you looked")
    expect(taken.or_(tab.get_by_text("Ready", exact=True)).first).to_be_visible(timeout=SOON_MS)
    return "bought" if LEASE_PAGE.search(tab.url) else "taken"


def _tomorrow() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
