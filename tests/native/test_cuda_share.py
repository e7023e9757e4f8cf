"""Who gets how much of a card, in the card's own (virtual) time: asked and got, within one point (cases 14, 15, 19)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.native.cuda_stage import SECOND_NS, Stage

MakeStage = Callable[..., Stage]
MS = 1_000_000
SHORT = {"ns": MS // 5}
POINT = 1.0

# As in docs/native.md: per tenant the share asked (permille) and what its programs launch.
SCENARIOS: dict[str, list[tuple[int, dict[str, int]]]] = {
    "alone_30_async_200us": [(300, SHORT)],
    "alone_30_async_5ms": [(300, {"ns": 5 * MS})],
    "alone_30_sync_5ms": [(300, {"ns": 5 * MS, "sync": 1})],
    "alone_30_lognormal_2ms": [(300, {"ns": 2 * MS, "sigma": 1000})],
    "30_70_both_async_200us": [(300, SHORT), (700, SHORT)],
    "30_70_sync_5ms_async_200us": [(300, {"ns": 5 * MS, "sync": 1}), (700, SHORT)],
    "30_70_lognormal_2ms": [(300, {"ns": 2 * MS, "sigma": 1000}), (700, {"ns": 2 * MS, "sigma": 1000, "seed": 2})],
    "15_25_60_async": [(150, SHORT), (250, {"ns": 5 * MS}), (600, {"ns": 20 * MS})],
    "25x4_async": [(250, SHORT), (250, {"ns": MS}), (250, {"ns": 5 * MS}), (250, {"ns": 20 * MS})],
    "alone_30_four_threads_three_streams": [(300, {"ns": 2 * MS, "threads": 4, "streams": 3})],
    "alone_30_small_and_seldom": [(300, {"ns": 20_000, "gap_us": 10})],
    "alone_30_one_block": [(300, {"ns": 5 * MS, "grid": 1, "block": 1024})],
    "alone_30_a_grid_of_billions": [(300, {"ns": MS // 5, "grid": 2_147_483_647, "block": 1})],
}


@pytest.fixture
def make_stage(tmp_path: Path) -> Iterator[MakeStage]:
    with ExitStack() as stack:

        def make(name: str = "stage", **options: bool) -> Stage:
            (tmp_path / name).mkdir()
            return stack.enter_context(Stage(tmp_path / name, **options))

        yield make


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_tenant_gets_what_it_asked_for(make_stage: MakeStage, name: str) -> None:
    stage = make_stage()
    tenants = [stage.steady(share, **options) for share, options in SCENARIOS[name]]
    stage.watch(15, warm=8)
    got = [stage.got(tenant) for tenant in tenants]
    assert got == pytest.approx([tenant.asked / 10 for tenant in tenants], abs=POINT)


def test_one_kernel_of_300_ms_a_call_averages_a_tenth(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(100, ns=300 * MS, sync=1)
    stage.watch(180, warm=2)
    assert stage.got(tenant) == pytest.approx(10, abs=POINT / 2)
    assert tenant.region.usage("longest_wait_ns") <= 3 * SECOND_NS


def test_thirty_two_tenants_get_the_same(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenants = [stage.steady(31, **SHORT) for _ in range(32)]
    stage.watch(10, warm=4)
    got = [stage.got(tenant) for tenant in tenants]
    assert got == pytest.approx([3.1] * 32, abs=0.4)
    assert 100 * statistics.pstdev(got) / statistics.mean(got) <= 3


def test_two_programs_of_a_slice_share_one_bucket(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(300, programs=2, ns=MS)
    stage.watch(10)
    assert stage.got(tenant) == pytest.approx(30, abs=POINT)


def test_without_the_agents_gain_contention_overcharges(make_stage: MakeStage) -> None:
    stage = make_stage(gain=False)
    tenants = [stage.steady(300, ns=5 * MS, sync=1), stage.steady(700, **SHORT)]
    stage.watch(10)
    assert stage.got(tenants[0]) < 30 - 3 * POINT
    assert sum(stage.got(tenant) for tenant in tenants) < 100 - 5 * POINT


def test_twenty_short_programs_do_not_run_free(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(100)
    began = stage.now
    for _ in range(20):
        stage.finish(stage.start(tenant, "brief", ns=20 * MS))
    permille = 1000 * 20 * 20 * MS // (stage.now - began)
    # The last one's debt is not waited for, and a burst is free; between two programs time goes by.
    assert 50 <= permille <= 115
    assert tenant.region.usage("measured_ns") == pytest.approx(20 * 20 * MS, rel=0.02)


def test_a_function_never_measured_has_one_launch_in_flight(make_stage: MakeStage) -> None:
    stage = make_stage()
    out = stage.finish(stage.start(stage.slice(1000), "unknown", ns=10 * MS, count=20))
    # Each second launch of a pair waited for the first: so the queue never held more than one and a bit.
    assert out["took_ns"] >= out["all_ns"] - 30 * MS


def test_fills_on_the_card_are_device_work(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.cards.set(fill_bytes_per_second=1 << 30)
    tenant = stage.slice(300)
    stage.start(tenant, "fills", bytes=1 << 20, ms=1_000_000)
    stage.watch(5)
    assert stage.got(tenant) == pytest.approx(30, abs=POINT)


@pytest.mark.parametrize("pattern", ["value", "host"])
def test_work_behind_the_host_is_not_waited_for(make_stage: MakeStage, pattern: str) -> None:
    stage = make_stage()
    out = stage.finish(stage.start(stage.slice(1000), pattern, ns=MS, count=50))
    assert out["launches"] >= 50
