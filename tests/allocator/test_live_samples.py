"""From a node's connection to a tab: samples of a lease that somebody looks at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from allocator.live.samples import SampleDesk
from tests.allocator.factories import Node, book, make_wish
from tests.allocator.links import Link, greeted, now, poked, run
from tests.identity.factories import Person, make_operator, make_tenant
from tests.plumbing.watchers import Tab
from vxpu.ids import encode, new_uuid
from vxpu.market import LeaseView
from vxpu.states import Quality
from vxpu.wire.node import LeaseSample, Reading, Samples, Watch

pytestmark = pytest.mark.usefixtures("committed_system")


@pytest.fixture
def node() -> Node:
    return Node(now=now())


@pytest.fixture
def ada() -> Person:
    return make_tenant()


@pytest.fixture
def lease(node: Node, ada: Person) -> LeaseView:
    starts_at = now() - timedelta(seconds=1)
    return node.start(book(make_wish(starts_at=starts_at), now=now(), tenant_id=ada.tenant_id), now=now())


def topic_of(lease: LeaseView) -> str:
    return f"lease/{encode('lse', lease.id)}/metrics"


def sample(lease_id: str, used: int) -> LeaseSample:
    def reading(value: int | None) -> Reading:
        quality = Quality.UNAVAILABLE if value is None else Quality.MEASURED
        return Reading(value=value, at=None if value is None else now(), quality=quality)

    return LeaseSample(
        lease_id=lease_id, at=now(), memory_mib=reading(100), memory_limit_mib=2048, compute_permille=reading(used),
        compute_limit_permille=250, throttled_permille=reading(0), power_mw=reading(None), processes=2,
    )  # fmt: skip


def frame(*samples: LeaseSample) -> dict[str, Any]:
    return Samples(leases=list(samples)).model_dump(mode="json")


async def looking(tab: Tab, node: Link, lease: LeaseView) -> dict[str, Any]:
    """The node was asked; the answer is the tab's snapshot."""
    await tab.subscribe(topic_of(lease))
    snapshot = await tab.answer(wanted="snapshot")
    order = await node.answer(wanted="watch")
    assert order["lease_ids"] == [encode("lse", lease.id)]
    found: dict[str, Any] = snapshot["data"]
    return found


def test_samples_reach_the_tab_and_before_them_it_is_unknown(node: Node, ada: Person, lease: LeaseView) -> None:
    async def story() -> None:
        link = await greeted(node)
        await poked(link, node)
        tab = await Tab.opened_by(ada)
        first = await looking(tab, link, lease)
        assert first["compute_permille"] == {"value": None, "at": None, "quality": "unavailable"}
        assert (first["memory_limit_mib"], first["compute_limit_permille"]) == (2048, 250)
        await link.send(frame(sample(encode("lse", lease.id), 240)))
        metrics = await tab.answer(wanted="metrics")
        assert metrics["topic"] == topic_of(lease)
        assert metrics["data"]["compute_permille"]["value"] == 240
        assert (metrics["data"]["power_mw"]["value"], metrics["data"]["processes"]) == (None, 2)
        await tab.hang_up()
        await link.hang_up()

    run(story)


def test_one_watch_however_many_look_and_it_is_renewed(
    node: Node, ada: Person, lease: LeaseView, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        link = await greeted(node)
        await poked(link, node)
        tabs = [await Tab.opened_by(ada) for _ in range(3)]
        await looking(tabs[0], link, lease)
        for tab in tabs[1:]:
            await tab.subscribe(topic_of(lease))
            await tab.answer(wanted="snapshot")
        assert await link.is_quiet()
        await link.answer(wanted="watch")  # the renewal
        await link.send(frame(sample(encode("lse", lease.id), 100)))
        for tab in tabs:
            assert (await tab.answer(wanted="metrics"))["data"]["compute_permille"]["value"] == 100
            await tab.hang_up()
        await link.hang_up()

    run(story)


def test_another_tenants_lease_and_no_lease_are_refused_alike(node: Node, lease: LeaseView) -> None:
    bo, operator = make_tenant(), make_operator()

    async def story() -> None:
        tab = await Tab.opened_by(bo)
        for topic in (topic_of(lease), f"lease/{encode('lse', new_uuid())}/metrics", "lease/nonsense/metrics"):
            await tab.subscribe(topic)
            assert (await tab.answer(wanted="refused"))["code"] == "not_found"
        await tab.hang_up()
        console = await Tab.opened_by(operator)
        await console.subscribe(topic_of(lease))
        await console.answer(wanted="snapshot")
        await console.hang_up()

    run(story)


def test_a_node_speaks_only_of_what_it_was_asked_and_not_too_often(node: Node) -> None:
    desk, at = SampleDesk(), now()
    asked, other = encode("lse", new_uuid()), encode("lse", new_uuid())

    def said(*names: str, after_s: float) -> int:
        told = Samples(leases=[sample(name, 1) for name in names])
        return len(desk.messages(told, node_id=node.id, now=at + timedelta(seconds=after_s)))

    assert said(asked, after_s=0) == 0
    desk.expect(Watch(lease_ids=[asked], until=at + timedelta(seconds=10)), now=at)
    assert said(asked, other, "*", "nonsense", after_s=1) == 1
    assert said(asked, after_s=1.01) == 0
    assert said(asked, after_s=20) == 0


def test_a_frame_of_samples_that_is_none_is_refused_and_the_heartbeat_goes_on(node: Node) -> None:
    async def story() -> None:
        link = await greeted(node)
        hostile = frame(sample("lse_x", 1))
        hostile["leases"][0]["compute_limit_permille"] = 10**30
        await link.send(hostile)
        assert (await link.answer(wanted="refused"))["code"] == "bad_frame"
        await link.hang_up()

    run(story)
