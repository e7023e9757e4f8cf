"""The gate of a card: resize, pause, lend, close; captures, copies, callbacks, forks (cases 13, 16, 18, 20)."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.native.conftest import CardRegion
from tests.native.cuda_stage import SECOND_NS, WORK, Stage, Tenant
from tests.native.guests import run, run_tool
from tests.native.region import MIB
from tests.native.test_cuda_share import MakeStage, make_stage

__all__ = ["make_stage"]
MS = 1_000_000
DEVICE_UNAVAILABLE = 46
NOTICED_NS = 50 * MS


@pytest.fixture(scope="module")
def pure() -> dict[str, int]:
    lines = run_tool("cu_cost", env={}).splitlines()
    return {name: int(value) for name, value in (line.split("=") for line in lines)}


def test_a_cost_is_the_mean_of_what_was_measured(pure: dict[str, int]) -> None:
    assert pure["unknown"] == pure["forgotten"] == -1
    assert pure["mean"] == pytest.approx(40_000, rel=0.25)  # a median would be 10,000
    assert (pure["drifted"], pure["fresh"]) == (1, 7000)


def test_costs_go_by_function_and_size_of_the_launch(pure: dict[str, int]) -> None:
    assert pure["same_shape"] == 1
    assert (pure["other_shape"], pure["other_function"], pure["overflow"]) == (0, 0, 0)


def test_work_side_by_side_is_one_time_not_two(pure: dict[str, int]) -> None:
    names = ("apart", "chained", "side_by_side", "inside", "late", "around", "into", "backwards")
    assert [pure[name] for name in names] == [25, 35, 35, 30, 30, 30, 20, 0]


def deep_in_debt(stage: Stage, **options: int) -> tuple[Tenant, subprocess.Popen[str]]:
    """A tenant at one permille whose next launch would come in five seconds."""
    tenant = stage.slice(1)
    guest = stage.start(tenant, "steady", **{"ns": 5 * MS, "sync": 1, "ms": 60_000} | options)
    while tenant.region.usage("budget_ns") > -4 * MS:
        stage.sleep(MS)
    stage.sleep(100 * MS)
    return tenant, guest


def time_until_launch(stage: Stage, tenant: Tenant) -> int:
    began, launches = stage.now, tenant.region.usage("launches")
    while tenant.region.usage("launches") == launches:
        assert stage.sleep(MS) < began + SECOND_NS
    return stage.now - began


def test_a_larger_share_is_seen_by_a_waiter_within_50_ms(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant, _ = deep_in_debt(stage)
    tenant.region.set(share_permille=1000)
    assert time_until_launch(stage, tenant) <= NOTICED_NS


def test_pause_holds_every_launch_and_lets_go_within_50_ms(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(500, ns=MS)
    stage.sleep(SECOND_NS)
    tenant.region.set(pause=1)
    stage.sleep(NOTICED_NS)
    assert share_of(stage, tenant, 2 * SECOND_NS) == 0
    launches = tenant.region.usage("launches")
    tenant.region.set(pause=0)
    stage.sleep(NOTICED_NS)
    assert tenant.region.usage("launches") > launches


def test_a_hold_begins_and_lets_a_waiter_go_by_itself(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(500, ns=MS)
    stage.sleep(SECOND_NS)
    start = stage.now + 100 * MS
    tenant.region.set(hold_from_ns=start, hold_until_ns=start + SECOND_NS)
    assert share_of(stage, tenant, 100 * MS) >= 400
    stage.sleep(NOTICED_NS)
    assert share_of(stage, tenant, SECOND_NS - 60 * MS) == 0
    launches = tenant.region.usage("launches")
    stage.sleep(start + SECOND_NS + 10 * MS - stage.now)
    assert tenant.region.usage("launches") > launches
    assert share_of(stage, tenant, SECOND_NS) == pytest.approx(500, abs=20)


def test_a_hold_that_has_no_length_holds_nobody(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(500, ns=MS)
    tenant.region.set(hold_from_ns=stage.now + SECOND_NS, hold_until_ns=stage.now + SECOND_NS // 2)
    stage.watch(2, warm=1)
    assert stage.got(tenant) == pytest.approx(50, abs=2)


def test_what_is_lent_comes_within_100_ms_and_goes_within_100_ms(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.steady(200, ns=MS)
    stage.watch(2, warm=1)
    until = stage.now + 3 * SECOND_NS
    tenant.region.set(lend_permille=500, lend_until_ns=until)
    stage.sleep(100 * MS)
    assert share_of(stage, tenant, 2 * SECOND_NS) == pytest.approx(700, abs=30)
    stage.sleep(until + 100 * MS - stage.now)
    assert share_of(stage, tenant, 2 * SECOND_NS) == pytest.approx(200, abs=20)


def share_of(stage: Stage, tenant: Tenant, ns: int) -> int:
    """Permille of the card that its programs get from now on, for so long."""
    pids = {guest.pid for guest in tenant.guests}

    def total() -> int:
        return sum(busy for pid, busy in stage.busy_by_pid().items() if pid in pids)

    before = total()
    stage.sleep(ns)
    return 1000 * (total() - before) // ns


def test_a_closed_lease_lets_a_waiter_go_with_device_unavailable(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant, guest = deep_in_debt(stage)
    tenant.region.flag(2)
    while guest.poll() is None:
        stage.sleep(MS)
    assert guest.returncode == DEVICE_UNAVAILABLE


def test_a_whole_device_is_left_alone(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(10)
    tenant.region.flag(1)
    stage.run(tenant, ns=MS)
    stage.watch(2, warm=1)
    assert stage.got(tenant) > 98
    assert [tenant.region.usage(name) for name in ("launches", "measured_ns", "waits")] == [0, 0, 0]


def test_a_captured_graph_costs_what_its_kernels_do_one_by_one(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(300)
    stage.start(tenant, "graph", ns=10_000, kernels=1000, ms=1_000_000)
    stage.watch(10)
    assert stage.got(tenant) == pytest.approx(30, rel=0.03)


def test_a_capture_is_never_delayed(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(1)
    out = stage.finish(stage.start(tenant, "graph", ns=MS, kernels=1000, ms=1))
    assert out["captured"] == 1000
    assert out["capture_ns"] <= 10 * MS  # a thousand calls' own time


@pytest.mark.parametrize("sync", [0, 1], ids=["async", "blocking"])
def test_copies_keep_to_their_share_of_the_bus(make_stage: MakeStage, sync: int) -> None:
    stage = make_stage()
    stage.cards.set(copy_bytes_per_second=25 << 30)
    tenant = stage.slice(1000, copy_bytes_per_second=1 << 30)
    out = stage.finish(stage.start(tenant, "copies", ms=1000, bytes=MIB, sync=sync))
    burst = (1 << 30) // 50  # of 20 ms, which may be had at once
    rate = (out["bytes"] - burst) * SECOND_NS / out["wall_ns"]
    assert rate == pytest.approx(1 << 30, rel=0.03)
    assert tenant.region.usage("copied_bytes") == out["bytes"]


def test_a_drivers_own_thread_is_never_held(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(1)
    out = stage.finish(stage.start(tenant, "callback", ns=50 * MS, count=3))
    assert out["launches"] == 3
    assert out["longest_ns"] < MS


WAYS = ("kernel", "kernel_ptsz", "ex", "ex_ptsz", "cooperative", "cooperative_ptsz", "grid", "grid_async", "launch")


@pytest.mark.parametrize("way", range(len(WAYS)), ids=WAYS)
def test_every_call_that_launches_keeps_to_the_share(make_stage: MakeStage, way: int) -> None:
    stage = make_stage()
    tenant = stage.steady(300, ns=MS, way=way)
    stage.watch(5)
    assert stage.got(tenant) == pytest.approx(30, abs=1)


@pytest.mark.parametrize("way", range(3), ids=["destroy", "reset", "release"])
def test_work_whose_context_ends_behind_it_is_not_cheaper(make_stage: MakeStage, way: int) -> None:
    stage = make_stage()
    tenant = stage.slice(100)
    stage.start(tenant, "ends", ns=20 * MS, way=way, ms=1_000_000)
    stage.watch(10, warm=2)
    assert stage.got(tenant) == pytest.approx(10, abs=1)


def test_a_fork_neither_hangs_nor_disturbs_its_parent(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant = stage.slice(300)
    out = stage.finish(stage.start(tenant, "fork", ns=MS))
    assert out["child"] == 0
    assert tenant.region.usage("measured_ns") == pytest.approx(MS, rel=0.05)


def test_a_negative_budget_does_not_stick_after_a_resize(make_stage: MakeStage) -> None:
    stage = make_stage()
    tenant, _ = deep_in_debt(stage)
    for share in (0, 1, 900):
        tenant.region.set(share_permille=share)
        stage.sleep(100 * MS)
    assert share_of(stage, tenant, SECOND_NS) == pytest.approx(900, abs=20)


def test_one_thread_on_two_cards_is_charged_on_each(card_region: CardRegion) -> None:
    cards, region = card_region(count=2, cards={"clock": "virtual"}, limit=1 << 30, share=300)
    run_guest(["cards", f"ns={MS}", "ms=3000"], cards.env(region))
    busy = [int(str(card["busy_ns"])) for card in cards.list()]
    measured = [region.usage("measured_ns", device) for device in range(2)]
    assert measured == pytest.approx(busy, rel=0.02)
    # The first card's bucket holds the thread; the second one's kernels are half as long.
    assert busy[0] == pytest.approx(0.3 * 3 * SECOND_NS, rel=0.05)
    assert busy[1] == pytest.approx(busy[0] / 2, rel=0.05)


def run_guest(words: list[str], env: dict[str, str]) -> None:
    done = run([WORK, *words], env)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("point", ["credit.prepaid", "credit.closed", "reap.measured", "gate.asleep", "refill.won"])
def test_a_program_that_dies_at_the_gate_holds_nobody_for_10_ms(make_stage: MakeStage, point: str) -> None:
    stage = make_stage()
    tenant = stage.steady(500, ns=MS // 5)
    stage.sleep(SECOND_NS)
    dead = stage.start(tenant, "steady", ns=MS // 5, ms=60_000, VXPU_CRASH_AT=point)
    while dead.poll() is None:
        stage.sleep(MS)
    assert dead.returncode == -signal.SIGKILL
    assert max(time_until_launch(stage, tenant) for _ in range(20)) <= 10 * MS
