"""kill -9 in the middle of a job: it converges, no window is lost, none is counted twice, memory comes back."""

from __future__ import annotations

import itertools
import signal
import time
from datetime import datetime
from decimal import Decimal
from typing import Any

import psutil
import pytest

from config.demo.cast import Tenant
from config.demo.numbers import WINDOW_S
from config.demo.rest import Api
from config.demo.stage import iso, wait_until
from config.stack import Stack
from tests.e2e.conftest import ReadyLease, StartGuest

pytestmark = [pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(240)]
DOWN_S = 5.0


def starts_of(usage: dict[str, Any]) -> list[int]:
    return [int(datetime.fromisoformat(one["window_start"]).timestamp()) for one in usage["windows"]]


def check_windows(tenant: Tenant, lease: str) -> None:
    """On the grid from ready to gone, without a hole and without a double."""
    row = tenant.member.get(f"leases/{lease}")
    began, ended = (datetime.fromisoformat(row[name]).timestamp() for name in ("ready_at", "ended_at"))
    expected = int((ended - began) // WINDOW_S) - 1
    usage = wait_until(lambda: dict(tenant.member.get(f"leases/{lease}/usage")),
                       lambda seen: seen["windows_counted"] >= expected and not seen["seqs_missing"],
                       what="all windows arrive", timeout_s=40)  # fmt: skip
    steps = {after - before for before, after in itertools.pairwise(starts_of(usage))}
    assert steps == {WINDOW_S}
    assert starts_of(usage)[0] <= began < starts_of(usage)[0] + 2 * WINDOW_S
    assert usage["windows_counted"] == len(usage["windows"]) == len(set(starts_of(usage)))


def keep_down(stack: Stack, parts: tuple[str, ...], *, seconds: float) -> None:
    """kill -9 of all at once, and again as often as the launcher starts one anew."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for part in set(parts) & set(stack.pids):
            stack.kill9(part)
        time.sleep(0.1)


def release(tenant: Tenant, bought: dict[str, Any]) -> None:
    tenant.member.post(f"reservations/{bought['id']}/release")
    wait_until(lambda: tenant.member.get(f"leases/{bought['lease']['id']}"), lambda row: row["state"] == "gone",
               what="the lease is gone", timeout_s=30)  # fmt: skip


@pytest.mark.parametrize(
    "parts", [("web", "worker", "beat", "sockets"), ("agent",), ("valkey", "postgres")], ids="-".join
)
def test_a_job_survives_the_death_of(
    parts: tuple[str, ...], stack: Stack, tenant: Tenant, ready_lease: ReadyLease, start_guest: StartGuest
) -> None:
    bought = ready_lease()
    lease = bought["lease"]["id"]
    guest = start_guest(lease, "saturate", "--seconds", "600")
    try:
        guest.wait_steady()
        keep_down(stack, parts, seconds=DOWN_S)
        for part in parts:
            stack.wait_healthy(part)
        assert guest.process.poll() is None, guest.said()
        time.sleep(2 * WINDOW_S)
        guest.process.terminate()
        code, report = guest.finish()
    finally:
        guest.stop()
    assert (code, report["right"]) == (0, True)
    wait_until(lambda: tenant.member.get(f"leases/{lease}"), lambda row: row["state"] == "ready",
               what="the lease is known to be ready", timeout_s=40)  # fmt: skip
    release(tenant, bought)
    check_windows(tenant, lease)


def test_a_dead_program_gives_its_memory_back(ready_lease: ReadyLease, start_guest: StartGuest, tenant: Tenant) -> None:
    bought = ready_lease()
    lease, size = bought["lease"]["id"], bought["slice"]["memory_mib"]
    holder = start_guest(lease, "memory_probe", "--hold", "120")
    try:
        holder.wait_steady()
        for process in guests_of("--hold"):
            process.send_signal(signal.SIGKILL)
        assert holder.process.wait(20) == 128 + signal.SIGKILL
    finally:
        holder.stop()
    code, report = start_guest(lease, "memory_probe").finish()
    assert (code, report["refused_at_mib"]) == (0, size)


def guests_of(word: str) -> list[psutil.Process]:
    """The processes inside slices with this word on their command line."""
    found = psutil.process_iter(["uids", "cmdline"])
    return [one for one in found if word in (one.info["cmdline"] or []) and 61000 <= one.info["uids"].real <= 64999]


def test_the_books_are_right_after_all_that(operator: Api, device: dict[str, Any], price: dict[str, Any]) -> None:
    """The same identity as on a quiet day, since the first sale, over the time in which everything was killed."""
    query = {"device": device["id"], "from": price["valid_from"], "to": iso(int(time.time()))}
    books = operator.get("reconciliation", **query)
    assert books["permille_seconds"]["cut"] == 0
    assert Decimal(books["charged"]) + Decimal(books["idle"]) - Decimal(books["over_recovery"]) == Decimal(
        books["cost"]
    )
