"""A thousand reservations that arrive within ten seconds: `python -m tests.bench.bench_burst [--quick]`.

Starts the whole stack with a simulated fleet that has room for all of them. Requests are sent when they are due,
however slow the answers are (an open loop over `CLIENTS` connections), and are willing to wait in the queue. "Placed"
is measured from the moment a request was due until its answer says so. Client, servers and the simulated nodes share
the machine. The mark: all placed and listed 10 s after the first.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from config.demo.cast import Tenant, make_tenant, publish_prices
from config.demo.rest import Api
from config.stack import Stack

ROOT = Path(__file__).resolve().parents[2]
CLIENTS, WITHIN_S, PATIENCE_S = 8, 10.0, 300.0
PLACED = {"confirmed", "activating", "active"}


@contextmanager
def fleet(stack: Stack, *, devices: int) -> Iterator[None]:
    """Simulated nodes that heed their orders, in a process of their own."""
    command = [sys.executable, "manage.py", "simulate_fleet", "--idle", "--devices", str(devices)]
    running = subprocess.Popen(command, cwd=ROOT, env=stack.env, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        running.terminate()
        running.wait(180)


def await_devices(operator: Api, number: int) -> list[dict[str, Any]]:
    until = time.monotonic() + PATIENCE_S
    while len(found := operator.rows("devices", limit=200)) < number:
        if time.monotonic() > until:
            raise SystemExit(f"{len(found)} of {number} devices after {PATIENCE_S:.0f} s")
        time.sleep(1)
    return found


def send(
    tenant: Tenant, site: str, wishes: Sequence[dict[str, Any]], within_s: float
) -> tuple[float, dict[str, float]]:
    """When it began, and for each reservation that was placed at once the seconds since it was due."""
    due = [within_s * number / len(wishes) for number in range(len(wishes))]
    lock, placed, began = threading.Lock(), {}, time.perf_counter()

    def work(first: int) -> None:
        with httpx.Client(
            base_url=f"{site}/api/v1/", headers={"Authorization": f"Bearer {tenant.member.token}"}
        ) as http:
            for number in range(first, len(wishes), CLIENTS):
                time.sleep(max(0.0, began + due[number] - time.perf_counter()))
                headers = {"Idempotency-Key": str(uuid4())}
                answer = http.post("reservations", json=wishes[number], headers=headers, timeout=60)
                if answer.status_code not in {201, 202}:
                    raise SystemExit(f"{answer.status_code} {answer.text}")
                told = answer.json()
                with lock:
                    placed[told["id"]] = time.perf_counter() - began - due[number] if told["state"] in PLACED else -1.0

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(work, range(CLIENTS)))
    return began, placed


def await_placed(tenant: Tenant, began: float, placed: dict[str, float]) -> float:
    """Seconds from the beginning until every one is placed and in the list."""
    until = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < until:
        rows = {row["id"]: row["state"] for row in tenant.member.rows("reservations", limit=200)}
        waiting = [name for name in placed if rows.get(name) not in PLACED]
        if not waiting:
            return time.perf_counter() - began
        time.sleep(0.2)
    raise SystemExit(f"{len(waiting)} are not placed after {PATIENCE_S:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it: 100 in one second")
    number = 100 if parser.parse_args().quick else 1000
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with (
        tempfile.TemporaryDirectory(prefix="vxpu-burst-") as folder,
        Stack(var=Path(folder), env=dict(os.environ), agent=False) as stack,
    ):
        operator = Api(stack.urls["web"], stack.operator_token)
        with fleet(stack, devices=number // 2):
            devices = await_devices(operator, number // 2)
            kind = Counter(device["kind"] for device in devices).most_common(1)[0][0]
            publish_prices(operator, kind=kind)
            tenant = make_tenant(operator, stack.urls["web"], "A", run=f"{int(time.time()):x}")
            limits = {"nominal_permille": 10**6, "nominal_mib": 10**9, "max_reservations": 10**5}
            operator.put("quotas", {"tenant": tenant.id, **limits})
            mib = min(int(device["capacity_mib"]) for device in devices if device["kind"] == kind) // 4
            ends_at = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
            wish = {"project": tenant.project, "device_kind": kind, "ends_at": ends_at, "queue": True,
                    "slice": {"memory_mib": mib, "share_permille": 250}}  # fmt: skip
            began, placed = send(tenant, stack.urls["web"], [wish] * number, WITHIN_S * number / 1000)
            all_s = await_placed(tenant, began, placed)
    at_once = sorted(seconds for seconds in placed.values() if seconds >= 0)
    p50, p99 = (at_once[int(len(at_once) * rank)] * 1000 for rank in (0.5, 0.99))
    print("| asked | within s | placed at once | p50 ms | p99 ms | all placed and listed after s |")
    print("|---|---|---|---|---|---|")
    print(f"| {number} | {WITHIN_S * number / 1000:.0f} | {len(at_once)} | {p50:.0f} | {p99:.0f} | {all_s:.1f} |")


if __name__ == "__main__":
    main()
