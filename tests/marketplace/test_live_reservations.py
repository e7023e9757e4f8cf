"""The reservations of a tenant, as they change, in a tab."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests.allocator.links import run
from tests.identity.factories import make_member, make_operator, make_project
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node
from tests.plumbing.watchers import Tab

pytestmark = pytest.mark.usefixtures("committed_system")


@pytest.fixture
def buyer() -> Buyer:
    make_price()
    Node(now=datetime.now(UTC))
    return make_buyer(now=datetime.now(UTC))


async def bought(buyer: Buyer) -> Any:
    answer = await sync_to_async(lambda: buyer.post("reservations", buyer.body()))()
    assert answer.status_code == 201, answer.content
    return answer.json()


async def watching(tab: Tab) -> Any:
    await tab.subscribe("reservations")
    return (await tab.answer(wanted="snapshot"))["data"]


def test_a_purchase_and_its_release_are_told_after_their_commit(buyer: Buyer) -> None:
    async def story() -> None:
        tab = await Tab.opened_by(buyer.person)
        assert await watching(tab) == {"reservations": [], "more": False}
        made = await bought(buyer)
        told = (await tab.answer(wanted="delta"))["data"]
        assert told["reservation"] == made["id"]
        assert told["project"] == buyer.project_name
        await sync_to_async(lambda: buyer.post(f"reservations/{made['id']}/release", {}))()
        versions = [told["version"]]
        while told["state"] not in {"cancelled", "ending", "completed"}:
            told = (await tab.answer(wanted="delta"))["data"]
            versions.append(told["version"])
        assert sorted(set(versions)) == versions
        await tab.hang_up()

    run(story)


def test_each_sees_what_rest_shows_him(buyer: Buyer) -> None:
    teammate = make_member(by=buyer.person, project=make_project(by=buyer.person))
    stranger, operator = make_buyer(now=datetime.now(UTC)), make_operator()

    async def story() -> None:
        made = await bought(buyer)
        tabs = [await Tab.opened_by(who) for who in (buyer.person, teammate, stranger.person, operator)]
        seen = [[row["reservation"] for row in (await watching(tab))["reservations"]] for tab in tabs]
        assert seen == [[made["id"]], [], [], [made["id"]]]
        await bought(buyer)
        for tab, hears in zip(tabs, (True, False, False, True), strict=True):
            if hears:
                await tab.answer(wanted="delta")
            else:
                assert await tab.is_quiet()
            await tab.hang_up()

    run(story)


def test_who_is_revoked_hears_no_more(buyer: Buyer) -> None:
    async def story() -> None:
        tab = await Tab.opened_by(buyer.person)
        await watching(tab)
        token = (await sync_to_async(lambda: buyer.get("tokens"))()).json()["items"][0]["id"]
        await sync_to_async(lambda: buyer.person.client.delete(f"/api/v1/tokens/{token}"))()
        assert await asyncio.wait_for(tab.close_code(), 10) == 4401

    run(story)
