"""An operator's rounds: a node is drained with its impact seen before, and put back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from config.demo.cast import Tenant
from config.demo.rest import Api, Refused
from tests.e2e.browser.conftest import OpenPage, page_complaints
from tests.e2e.conftest import ReadyLease

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


@pytest.fixture(autouse=True)
def back_in_service(operator: Api, device: dict[str, Any]) -> Iterator[None]:
    """Whatever a story did to the only node."""
    yield
    for undo in ("undrain", "uncordon"):
        operator.post(f"nodes/{device['node']}/{undo}")


def test_a_drain_shows_who_is_affected_and_takes_nothing_new(
    tenant_page: OpenPage, operator: Api, tenant: Tenant, device: dict[str, Any], ready_lease: ReadyLease
) -> None:
    running = ready_lease(part=8)
    page = tenant_page(f"/nodes/{device['node']}", token=operator.token)
    page.get_by_role("button", name="Drain", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 running lease and 0 bookings for later of 1 tenant are affected.")).to_be_visible()
    expect(dialog.get_by_text(running["lease"]["id"])).to_be_visible()
    dialog.get_by_label("Reason").fill("new fans")
    dialog.get_by_role("button", name="Drain 1 node").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("Draining").first).to_be_visible()

    size = {"memory_mib": device["capacity_mib"] // 8, "share_permille": 125}
    with pytest.raises(Refused) as no:
        tenant.member.post("reservations", {"project": tenant.project, "slice": size, "device": device["id"]})
    assert no.value.document["code"] == "no_capacity"
    assert tenant.member.get(f"reservations/{running['id']}")["lease"]["state"] == "ready"

    tenant.member.post(f"reservations/{running['id']}/release")
    expect(page.get_by_text("Drained", exact=True).first).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Put back in service").click()
    expect(page.get_by_role("button", name="Drain", exact=True)).to_be_visible()
    assert page_complaints(page) == []


def test_a_node_is_added_by_one_line(tenant_page: OpenPage, operator: Api) -> None:
    page = tenant_page("/nodes", token=operator.token)
    page.get_by_role("button", name="Add a node").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("the tall one")
    dialog.get_by_role("button", name="Make the line").click()
    expect(dialog.get_by_text(re.compile("vxpu-agent enrol"))).to_be_visible()
    expect(dialog.get_by_text("for the machine to call")).to_be_visible()


def test_a_tenant_sees_the_map_but_no_names(tenant_page: OpenPage, ready_lease: ReadyLease) -> None:
    ready_lease(part=8)
    page = tenant_page("/fleet")
    expect(page.get_by_role("img", name=re.compile("^Map of the fleet|1 device"))).to_be_visible()
    page.goto("/nodes")
    expect(page.get_by_text("Nodes are the operator's")).to_be_visible()
