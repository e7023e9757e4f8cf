"""Quotes a second and their latency: `python -m tests.bench.bench_quote [--quick]`.

Over HTTP into gunicorn as `make run` starts it; the client shares the machine. A slider is moved: each request asks for
another size, most fit, some do not. The mark: p50 < 40 ms with one client (300 ms is the promise).
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from tests.bench.bench_reserve import SEED, Buyer, Shop, client, make_buyer, own_shop, read


def ask(buyer: Buyer, seed: int, *, number: int, memory_mib: int) -> list[tuple[bool, float]]:
    """(fits, seconds) of each request, one after the other."""
    dice, answers = random.Random(seed), []  # noqa: S311 - a workload
    for _ in range(number):
        share, starts_at = dice.randrange(1, 1001), datetime.now(UTC) + timedelta(hours=dice.randrange(1, 72))
        body = {
            "project": buyer.project, "device_kind": "cpu", "starts_at": starts_at.isoformat(),
            "ends_at": (starts_at + timedelta(hours=4)).isoformat(),
            "slice": {"memory_mib": dice.randrange(1, memory_mib + 1), "share_permille": share},
        }  # fmt: skip
        began = time.perf_counter()
        answer = buyer.http.post("quotes", json=body)
        took = time.perf_counter() - began
        if answer.status_code != 201:
            raise SystemExit(f"{answer.status_code} {answer.text}")
        answers.append((answer.json()["fits"], took))
    return answers


def measure(shop: Shop, buyers: list[Buyer], *, number: int, memory_mib: int) -> None:
    """One line of the table."""
    began, cpu_before = time.perf_counter(), shop.cpu_s()
    with ThreadPoolExecutor(len(buyers)) as pool:
        parts = list(pool.map(
            lambda pair: ask(pair[1], SEED + pair[0], number=number // len(buyers), memory_mib=memory_mib),
            enumerate(buyers),
        ))  # fmt: skip
    took, cpu_s = time.perf_counter() - began, shop.cpu_s() - cpu_before
    times = sorted(seconds for part in parts for _, seconds in part)
    fits = Counter(fits for part in parts for fits, _ in part)
    p50, p99 = (times[int(len(times) * rank)] * 1000 for rank in (0.5, 0.99))
    row = f"| {len(buyers)} | {len(times)} | {fits[True]} | {len(times) / took:.0f} | {p50:.1f} | {p99:.1f} |"
    print(f"{row} {cpu_s / len(times) * 1000:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    number = 100 if parser.parse_args().quick else 1000
    with own_shop() as shop:
        operator = client(shop, shop.token)
        devices = read(operator.get("devices"))["items"]
        memory_mib = min(int(device["capacity_mib"]) for device in devices)
        print(f"{len(devices)} devices, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        print("| clients | quotes | that fit | per second | p50 ms | p99 ms | web CPU ms each |")
        print("|---|---|---|---|---|---|---|")
        for clients in (1, 4):
            buyers = [make_buyer(shop, operator) for _ in range(clients)]
            ask(buyers[0], SEED, number=5, memory_mib=memory_mib)
            measure(shop, buyers, number=number, memory_mib=memory_mib)


if __name__ == "__main__":
    main()
