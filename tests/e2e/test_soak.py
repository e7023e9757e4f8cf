"""The real stack for minutes: under fire, through whole outages, and a steady share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from config.demo.calibrate import Calibration, calibrate
from config.demo.cast import Tenant
from config.demo.guests import Guest
from config.demo.host import Watch
from config.demo.measure import Interval, Stretch, interval_of, steady_windows
from config.demo.numbers import TOLERANCE_PERMILLE, WINDOW_S
from config.demo.rest import Api
from config.demo.stage import wait_until
from config.stack import Stack
from tests.e2e import fire
from tests.e2e.conftest import ReadyLease, StartGuest
from tests.soak import SayFigures, scaled

pytestmark = [pytest.mark.soak, pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(1800)]
FIRE_S, OUTAGE_S, STEADY_S, LEAST_STEADY_S = 240, 30, 60, 12
LONG_S = 3600
FAULTS = ("windows_off", "ledger_off", "left_over")
RunSteady = Callable[[tuple[int, ...]], tuple[list[Interval], int | None]]


def start_job(ready_lease: ReadyLease, start_guest: StartGuest) -> dict[str, Guest]:
    """Three reservations of one tenant, a program that keeps its slice busy in each."""
    leases = [ready_lease(part=part, seconds=LONG_S)["lease"]["id"] for part in (4, 4, 8)]
    guests = {lease: start_guest(lease, "saturate", "--seconds", str(LONG_S)) for lease in leases}
    for guest in guests.values():
        guest.wait_steady(90)
    return guests


def finish_job(tenant: Tenant, guests: dict[str, Guest]) -> list[tuple[int, bool]]:
    """Each program is told to end, each reservation is released; (exit code, whether its kernels were right)."""
    for guest in guests.values():
        guest.process.terminate()
    ends = [guest.finish(120) for guest in guests.values()]
    for row in tenant.member.rows("reservations"):
        tenant.member.post(f"reservations/{row['id']}/release")
    return [(code, report["right"]) for code, report in ends]


def judge(
    stack: Stack, operator: Api, tenant: Tenant, device: dict[str, Any], price: dict[str, Any], guests: dict[str, Guest]
) -> dict[str, Any]:
    """What must be true when the fire is out: figures whose last three are zero."""
    rows = fire.await_ends(tenant)
    leases = [row["lease"]["id"] for row in rows if row["lease"]]
    counts = [fire.count_windows(stack, tenant, lease) for lease in leases]
    assert all(made > 0 for lease, (made, _) in zip(leases, counts, strict=True) if lease in guests)
    parts = fire.await_books(operator, device, price)
    return {
        "ends": dict(Counter(row["state"] for row in rows)), "windows_made": sum(made for made, _ in counts),
        "windows_counted": sum(counted for _, counted in counts),
        **{name: parts[name] for name in ("charged", "idle", "over_recovery", "total")},
        "windows_off": sum(abs(made - counted) for made, counted in counts),
        "ledger_off": int(not fire.is_balanced(operator)), "left_over": len(fire.left_over(stack, leases)),
    }  # fmt: skip


def test_a_job_survives_minutes_under_fire(
    stack: Stack, operator: Api, tenant: Tenant, device: dict[str, Any], price: dict[str, Any],
    ready_lease: ReadyLease, start_guest: StartGuest, say_figures: SayFigures,
) -> None:  # fmt: skip
    guests = start_job(ready_lease, start_guest)
    seconds = scaled(FIRE_S)
    with fire.customers(tenant, device) as bought:
        hits = fire.kill_at_random(stack, seconds=seconds, seed=1)
    time.sleep(3 * WINDOW_S)
    assert set(finish_job(tenant, guests)) == {(0, True)}
    seen = judge(stack, operator, tenant, device, price, guests)
    say_figures(seconds=seconds, kills=hits.total(), **hits, customers=dict(bought), **seen)
    assert [seen[name] for name in FAULTS] == [0, 0, 0]
    assert not [name for name in bought if name.startswith("500")]


@pytest.mark.parametrize("part", ["postgres", "valkey"])
def test_a_job_survives_a_whole_outage_of(
    stack: Stack, operator: Api, tenant: Tenant, device: dict[str, Any], price: dict[str, Any],
    ready_lease: ReadyLease, start_guest: StartGuest, say_figures: SayFigures, part: str,
) -> None:  # fmt: skip
    guests = start_job(ready_lease, start_guest)
    fire.outage(stack, part, seconds=OUTAGE_S)
    for lease in guests:
        wait_until(
            lambda name=lease: tenant.member.get(f"leases/{name}"),  # type: ignore[misc]
            lambda row: row["state"] == "ready",
            what="the lease is known to be ready again",
            timeout_s=60,
        )
    time.sleep(3 * WINDOW_S)
    assert set(finish_job(tenant, guests)) == {(0, True)}
    seen = judge(stack, operator, tenant, device, price, guests)
    say_figures(down_s=OUTAGE_S, **seen)
    assert [seen[name] for name in FAULTS] == [0, 0, 0]


# ---- the share ----


@pytest.fixture(scope="module")
def calibration(device: dict[str, Any]) -> Calibration:
    return calibrate(seconds=3, units=int(device["compute_units"]))


@pytest.fixture
def run_steady(tenant: Tenant, ready_lease: ReadyLease, start_guest: StartGuest, calibration: Calibration) -> RunSteady:
    """``run_steady((250, 500))`` -> the receipt's interval of each share, and the machine's idle permille."""

    def run(shares: tuple[int, ...]) -> tuple[list[Interval], int | None]:
        seconds = scaled(STEADY_S, least=LEAST_STEADY_S)
        leases = [ready_lease(part=4, share=share)["lease"]["id"] for share in shares]
        options = ("--seconds", str(LONG_S), "--rounds", str(calibration.rounds))
        for guest in [start_guest(lease, "saturate", *options) for lease in leases]:
            guest.wait_steady(90)
        with Watch() as watch:
            began = time.time()
            time.sleep(seconds + 2 * WINDOW_S)
            ended = time.time()
            time.sleep(2 * WINDOW_S)
        found = [
            judge_share(tenant, lease, Stretch(began, ended, share), calibration, watch)
            for lease, share in zip(leases, shares, strict=True)
        ]
        return found, watch.idle_permille(began, ended)

    return run


def judge_share(tenant: Tenant, lease: str, stretch: Stretch, calibration: Calibration, watch: Watch) -> Interval:
    """The share that the node metered over the steady part, against what was promised."""
    windows = wait_until(
        lambda: steady_windows(tenant.member.get(f"leases/{lease}/usage")["windows"], stretch, window_s=WINDOW_S),
        lambda seen: len(seen) * WINDOW_S >= stretch.ends_at - stretch.starts_at - 4 * WINDOW_S,
        what="the windows of the stretch arrive (beside a load hog they come late)",
        timeout_s=60,
    )
    return interval_of(
        windows, stretch, demand_permille=calibration.demand_permille, idle_permille=watch.idle_permille,
        tolerance_permille=TOLERANCE_PERMILLE,
    )  # fmt: skip


def shown(found: list[Interval], idle: int | None) -> dict[str, Any]:
    names = ("share_permille", "share_got_permille", "promised_permille", "contended")
    return {**{name: [getattr(one, name) for one in found] for name in names}, "idle_permille": idle}


@pytest.mark.parametrize("shares", [(100,), (250,), (500,), (750,), (250, 500)], ids=str)
def test_a_steady_program_gets_the_share_that_was_bought(
    run_steady: RunSteady, calibration: Calibration, say_figures: SayFigures, shares: tuple[int, ...]
) -> None:
    found, idle = run_steady(shares)
    say_figures(demand_permille=calibration.demand_permille, **shown(found, idle))
    assert all(one.is_kept(tolerance_permille=TOLERANCE_PERMILLE) for one in found)


@contextmanager
def load_hog() -> Iterator[int]:
    """Two programs for each processor that take all they get, outside any slice."""
    count = 2 * (os.cpu_count() or 1)
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield count
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def test_beside_a_load_hog_the_loss_is_known_and_nobody_gets_more(
    run_steady: RunSteady, say_figures: SayFigures
) -> None:
    with load_hog() as hogs:
        found, idle = run_steady((250, 500))
    lost = Counter({one.share_permille: one.share_permille - one.share_got_permille for one in found})
    say_figures(hogs=hogs, **shown(found, idle), lost_permille=[lost[one.share_permille] for one in found])
    assert min(lost.values()) >= -TOLERANCE_PERMILLE
