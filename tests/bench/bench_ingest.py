"""Usage windows a second, exactly once: `python -m tests.bench.bench_ingest [--quick]`.

Over HTTP, as agents send them (gzip, signed), into gunicorn as `make run` starts it; clients and server share the
machine, bodies are made beforehand. Then every batch once more: all duplicates, nothing counted twice.
The mark: 12,000 windows a second on two cores.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import logging
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
SENDERS, LEASES = 4, 20


@dataclass(frozen=True)
class Parcel:
    body: bytes
    signature: str


def make_fleet(*, now: datetime) -> tuple[Any, list[Any]]:
    """One node with running leases that began a day ago."""
    from tests.allocator.factories import started_lease
    from tests.bench.fleet import make_node

    since = now - timedelta(hours=23)
    node = make_node(devices=1, now=since)
    wish = {"share_permille": 10, "memory_mib": 10, "device_id": node.device_id()}
    leases = [started_lease(node, now=since, **wish) for _ in range(LEASES)]
    return node, leases


def make_parcels(node: Any, leases: list[Any], *, number: int, size: int, now: datetime) -> list[Parcel]:
    """`number` batches of `size` windows each; no window twice."""
    start = (now - timedelta(hours=22)).replace(second=0, microsecond=0)
    per_lease = number * size // len(leases)
    windows = [
        node.window(lease, start + timedelta(minutes=minute), seq=minute)
        for minute in range(per_lease)
        for lease in leases
    ]
    parcels = []
    for first in range(0, len(windows), size):
        body = gzip.compress(json.dumps(windows[first : first + size]).encode(), compresslevel=1)
        parcels.append(Parcel(body, base64.b64encode(node.key.sign(body)).decode()))
    return parcels


def send(address: str, token: str, parcels: list[Parcel]) -> tuple[Counter[str], list[float]]:
    counts: Counter[str] = Counter()
    times = []
    with httpx.Client(base_url=address, timeout=60) as client:
        for parcel in parcels:
            headers = {
                "Authorization": f"Bearer {token}", "Content-Encoding": "gzip", "Content-Type": "application/json",
                "VXPU-Signature": parcel.signature,
            }  # fmt: skip
            began = time.perf_counter()
            answer = client.post("/agent/v1/usage", content=parcel.body, headers=headers)
            times.append(time.perf_counter() - began)
            answer.raise_for_status()
            counts.update(result["status"] for result in answer.json()["results"])
    return counts, times


def measure(name: str, address: str, loads: list[tuple[Any, list[Parcel]]], *, size: int) -> Counter[str]:
    """One row of the table; each node sends its own."""
    tokens = [node.token(now=datetime.now(UTC), life_s=120) for node, _ in loads]
    began = time.perf_counter()
    with ThreadPoolExecutor(SENDERS) as pool:
        parts = list(pool.map(send, [address] * SENDERS, tokens, [parcels for _, parcels in loads]))
    took = time.perf_counter() - began
    counts = sum((part[0] for part in parts), Counter[str]())
    times = sorted(seconds for part in parts for seconds in part[1])
    p50, p99 = (times[int(len(times) * rank)] * 1000 for rank in (0.5, 0.99))
    total = sum(counts.values())
    print(f"| {name} | {size} | {total} | {total / took:.0f} | {p50:.0f} | {p99:.0f} |", flush=True)
    return counts


def warm_up(address: str, node: Any) -> None:
    """Every worker has imported what it needs before the clock runs."""
    empty = Parcel(body := gzip.compress(b"[]"), base64.b64encode(node.key.sign(body)).decode())
    token = node.token(now=datetime.now(UTC))
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, [address] * SENDERS, [token] * SENDERS, [[empty] * 5] * SENDERS))


def run(address: str, *, scale: int) -> None:
    from plumbing.rowsec import system_scope

    print("| what | batch | windows | a second | p50 ms | p99 ms |\n|---|---|---|---|---|---|")
    for size, number in ((1000, scale), (100, 4 * scale)):
        now = datetime.now(UTC)
        loads = []
        with system_scope():
            for _ in range(SENDERS):
                node, leases = make_fleet(now=now)
                parcels = make_parcels(node, leases, number=number // SENDERS, size=size, now=now)
                loads.append((node, parcels))
        warm_up(address, loads[0][0])
        first = measure("new", address, loads, size=size)
        again = measure("again", address, loads, size=size)
        if set(first) != {"accepted"} or set(again) != {"duplicate"}:
            raise SystemExit(f"not exactly once: {first}, then {again}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the windows")
    scale = 8 if parser.parse_args().quick else 48
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from tests import servers
    from tests.bench.bench_reserve import web

    with servers.running_servers() as found:
        servers.provide_template(found)
        servers.clone(found, "vxpu_bench")
        servers.point_django_at(found, "vxpu_bench")
        servers.point_celery_and_channels_at(found.redis_url)
        print(f"load before: {os.getloadavg()[0]:.1f}")
        with web(database=servers.url_of(found, "vxpu_bench"), valkey=found.redis_url) as (address, _):
            run(address, scale=scale)
        servers.drop(found, "vxpu_bench")


if __name__ == "__main__":
    main()
