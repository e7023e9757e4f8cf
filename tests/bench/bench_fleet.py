"""`GET /fleet` at 1,000 simulated devices: `python -m tests.bench.bench_fleet [--quick]` (quick: 200 devices).

One request after another through Django (routing, token, snapshot, JSON, gzip), without the web server. The mark: p50
below 150 ms at 1,000 devices.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
REQUESTS = 40
WINDOW_S = 10
MARK_MS = 150


def build(devices: int) -> None:
    """The fleet as `manage.py simulate_fleet` makes it."""
    from django.conf import settings

    from allocator.management.simulated.fleet import SimulatedFleet
    from plumbing.keyfile import provide_server_key
    from plumbing.rowsec import system_scope

    settings.VXPU_SERVER_KEY_FILE = Path(tempfile.mkdtemp(prefix="vxpu-bench-")) / "server-key.pem"
    provide_server_key(settings.VXPU_SERVER_KEY_FILE)
    settings.VXPU_WINDOW_S = WINDOW_S
    fleet = SimulatedFleet(devices=devices, seed=1, say=lambda _: None)
    began = time.perf_counter()
    with system_scope():
        fleet.build()
        print(f"built {devices} devices in {time.perf_counter() - began:.1f} s")
        fleet.live(until=time.monotonic() + 3 * WINDOW_S)


def measure(name: str, client: Any) -> float:
    """One row; returns the p50 in ms."""
    times = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        answer = client.get("/api/v1/fleet", headers={"Accept-Encoding": "gzip"})
        times.append((time.perf_counter() - began) * 1000)
    plain = client.get("/api/v1/fleet")
    devices = len(plain.json()["devices"]["id"])
    slices = sum(map(len, plain.json()["devices"]["slices"]))
    p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
    sizes = f"{len(plain.content) // 1024} | {len(answer.content) // 1024}"
    print(f"| {name} | {devices} | {slices} | {p50:.0f} | {p95:.0f} | {sizes} |", flush=True)
    return p50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 devices")
    devices = 200 if parser.parse_args().quick else 1000
    from tests.bench.bench_invoice import database

    logging.disable(logging.WARNING)
    with database():
        from plumbing.rowsec import system_scope
        from tests.identity.factories import client_for, make_operator, make_tenant

        build(devices)
        with system_scope():
            clients = {"operator": client_for(make_operator().secret), "tenant": make_tenant().client}
        print(f"load before: {os.getloadavg()[0]:.1f}")
        print("| asked by | devices | slices | p50 ms | p95 ms | KiB | KiB gzip |\n|---|---|---|---|---|---|---|")
        slowest = max(measure(name, client) for name, client in clients.items())
    if slowest > MARK_MS:
        raise SystemExit(f"p50 {slowest:.0f} ms is over {MARK_MS}")


if __name__ == "__main__":
    main()
