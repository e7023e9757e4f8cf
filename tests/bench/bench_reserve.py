"""Reservations decided over HTTP: `python -m tests.bench.bench_reserve [--quick] [--server URL --token OPERATOR]`.

Alone it starts PostgreSQL, Valkey and the REST server as `make run` does, with four devices; with --server it buys from
a running stack (and gives everything back). Every answer counts, 201 or 409; client and server share the machine.
The marks: p50 < 60 ms with one client; 100 a second at p99 <= 60 ms.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psutil

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
DEVICES, HOURS, SEED = 4, 40, 7
DECIDED = {201, 409}


@dataclass(frozen=True)
class Shop:
    """Where to buy, and the operator's token; `pid` is the REST server's, if it is ours."""

    address: str
    token: str
    pid: int | None = None

    def cpu_s(self) -> float:
        """CPU time of the REST server's processes: a figure that other load on the machine does not change much."""
        if self.pid is None:
            return 0.0
        server = psutil.Process(self.pid)
        times = [one.cpu_times() for one in (server, *server.children(recursive=True))]
        return sum(one.user + one.system for one in times)


@dataclass(frozen=True)
class Buyer:
    http: httpx.Client
    project: str


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def own_shop() -> Iterator[Shop]:
    """Servers of its own, a node with four devices, and gunicorn in front."""
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from django.conf import settings

    from allocator.services import sweep
    from plumbing.keyfile import provide_server_key
    from plumbing.rowsec import system_scope
    from tests import servers
    from tests.identity.factories import make_operator
    from tests.marketplace.factories import make_price
    from tests.marketplace.node import Node, make_device

    with servers.running_servers() as found:
        servers.provide_template(found)
        servers.clone(found, "vxpu_bench")
        servers.point_django_at(found, "vxpu_bench")
        servers.point_celery_and_channels_at(found.redis_url)
        settings.VXPU_SERVER_KEY_FILE = found.folder / "server-key.pem"
        provide_server_key(settings.VXPU_SERVER_KEY_FILE)
        make_price("3.20")
        Node(now=datetime.now(UTC), devices=[make_device() for _ in range(DEVICES)])
        with web(database=servers.url_of(found, "vxpu_bench"), valkey=found.redis_url) as server:
            yield Shop(server[0], make_operator().secret, server[1])
        with system_scope():
            if sweep.sweep():
                raise SystemExit("a device was sold twice")
        print("the sweep finds nothing over capacity")
        servers.drop(found, "vxpu_bench")


@contextmanager
def web(*, database: str, valkey: str) -> Iterator[tuple[str, int]]:
    """The REST server as the launcher runs it: its address and process."""
    address = f"127.0.0.1:{_free_port()}"
    environment = {
        **os.environ, "DATABASE_URL": database, "REDIS_URL": valkey, "VXPU_WEB_BIND": address,
        "DJANGO_SETTINGS_MODULE": "config.settings.dev", "DJANGO_SECRET_KEY": uuid4().hex * 2,
        "VXPU_LOG_LEVEL": "ERROR",
    }  # fmt: skip
    command = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi:application"]
    server = subprocess.Popen(command, env=environment)
    try:
        _wait_until_up(address, server)
        yield f"http://{address}", server.pid
    finally:
        server.terminate()
        server.wait(20)


def _wait_until_up(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx.get(f"http://{address}/healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit("the REST server does not come up")


def client(shop: Shop, token: str) -> httpx.Client:
    return httpx.Client(base_url=f"{shop.address}/api/v1/", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def read(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_error:
        raise SystemExit(f"{answer.request.url}: {answer.status_code} {answer.text}")
    return dict(answer.json())


def make_buyer(shop: Shop, operator: httpx.Client) -> Buyer:
    """A tenant with a project, an account and room in its quota."""
    word = uuid4().hex[:10]
    made = read(operator.post("tenants", json={
        "name": f"Bench {word}", "slug": f"bench-{word}", "admin_email": f"{word}@bench.example", "admin_name": "Bench",
    }))  # fmt: skip
    tenant = made["tenant"]["id"]
    account = {"tenant": tenant, "name": "Bench", "currency": "EUR", "zone": "UTC"}
    read(operator.post("accounts", json=account, headers={"Idempotency-Key": word}))
    limits = {"nominal_permille": 10**6, "nominal_mib": 10**9, "max_reservations": 10**6}
    read(operator.put("quotas", json={"tenant": tenant, **limits}))
    http = client(shop, made["token"]["secret"])
    project = read(http.post("projects", json={"name": "Bench", "slug": "bench"}))
    return Buyer(http, str(project["id"]))


def body(buyer: Buyer, dice: random.Random, *, memory_mib: int) -> dict[str, Any]:
    """Between a tenth and a half of some CPU for one to four hours in the days to come."""
    starts_at = datetime.now(UTC) + timedelta(hours=1 + dice.randrange(HOURS))
    share = dice.randrange(100, 500)
    return {
        "project": buyer.project, "device_kind": "cpu", "starts_at": starts_at.isoformat(),
        "ends_at": (starts_at + timedelta(hours=dice.randrange(1, 5))).isoformat(),
        "slice": {"memory_mib": max(1, memory_mib * share // 1000), "share_permille": share},
    }  # fmt: skip


def buy(buyer: Buyer, seed: int, *, number: int, memory_mib: int) -> list[tuple[int, float, str]]:
    """(status, seconds, id) of each request, one after the other."""
    dice, answers = random.Random(seed), []  # noqa: S311 - a workload
    for _ in range(number):
        asked = body(buyer, dice, memory_mib=memory_mib)
        began = time.perf_counter()
        answer = buyer.http.post("reservations", json=asked, headers={"Idempotency-Key": uuid4().hex})
        took = time.perf_counter() - began
        if answer.status_code not in DECIDED:
            raise SystemExit(f"{answer.status_code} {answer.text}")
        answers.append((answer.status_code, took, answer.json().get("id", "")))
    return answers


def measure(shop: Shop, buyers: Sequence[Buyer], *, number: int, memory_mib: int) -> None:
    """One line of the table; gives back what was bought."""
    began, cpu_before = time.perf_counter(), shop.cpu_s()
    with ThreadPoolExecutor(len(buyers)) as pool:
        parts = list(pool.map(
            lambda pair: buy(pair[1], SEED + pair[0], number=number // len(buyers), memory_mib=memory_mib),
            enumerate(buyers),
        ))  # fmt: skip
    took, cpu_s = time.perf_counter() - began, shop.cpu_s() - cpu_before
    times = sorted(seconds for part in parts for _, seconds, _ in part)
    statuses = Counter(status for part in parts for status, _, _ in part)
    p50, p99 = (times[int(len(times) * rank)] * 1000 for rank in (0.5, 0.99))
    row = f"| {len(buyers)} | {len(times)} | {statuses[201]} | {statuses[409]} |"
    print(f"{row} {len(times) / took:.0f} | {p50:.1f} | {p99:.1f} | {cpu_s / len(times) * 1000:.1f} |", flush=True)
    for buyer, part in zip(buyers, parts, strict=True):
        for status, _, name in part:
            if status == 201:
                read(buyer.http.post(f"reservations/{name}/release", json={}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--server", help="a running stack")
    parser.add_argument("--token", help="its operator's token")
    options = parser.parse_args()
    number = 100 if options.quick else 1000
    running = own_shop() if options.server is None else None
    with running or _given(options.server, options.token) as shop:
        operator = client(shop, shop.token)
        devices = read(operator.get("devices"))["items"]
        memory_mib = min(int(device["capacity_mib"]) for device in devices)
        print(f"{len(devices)} devices, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        print("| clients | decided | 201 | 409 | per second | p50 ms | p99 ms | web CPU ms each |")
        print("|---|---|---|---|---|---|---|---|")
        for clients in (1, 4, 8):
            measure(shop, [make_buyer(shop, operator) for _ in range(clients)], number=number, memory_mib=memory_mib)


@contextmanager
def _given(address: str, token: str) -> Iterator[Shop]:
    yield Shop(address.rstrip("/"), token)


if __name__ == "__main__":
    main()
