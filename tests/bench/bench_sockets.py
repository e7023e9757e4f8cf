"""A thousand tabs on one sockets' process: `python -m tests.bench.bench_sockets [--quick]`.

Idle ones first: memory and CPU of the process while each watches its tenant's reservations (heartbeats every 15 s and
the judge included). Then a node samples a lease twice a second; some, then all, of the tabs watch it: the time from the
node's reading to the frame in the client. They share the machine; client and node are one process, the server another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psutil
from websockets.asyncio.client import ClientConnection, connect

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
TABS, QUICK_TABS, SOME, PER_TOKEN = 1000, 200, 10, 10
IDLE_S, QUICK_IDLE_S, QUIET_S = 32.0, 16.0, 10.0
SAMPLES, QUICK_SAMPLES = 40, 10


@contextmanager
def stage(tabs: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The sockets' process with its address and pid, and what the clients need: tickets, a lease, its node."""
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from django.conf import settings

    from plumbing.keyfile import provide_server_key
    from tests import servers

    with servers.running_servers() as found:
        servers.provide_template(found)
        servers.clone(found, "vxpu_bench")
        servers.point_django_at(found, "vxpu_bench")
        servers.point_celery_and_channels_at(found.redis_url)
        settings.VXPU_SERVER_KEY_FILE = found.folder / "server-key.pem"
        provide_server_key(settings.VXPU_SERVER_KEY_FILE)
        with sockets(database=servers.url_of(found, "vxpu_bench"), valkey=found.redis_url) as (address, pid):
            yield address, pid, _cast(tabs)
        servers.drop(found, "vxpu_bench")


def _cast(tabs: int) -> dict[str, Any]:
    from identity.services import tokens
    from plumbing.live import tickets
    from plumbing.live.credentials import Credential
    from plumbing.rowsec import system_scope
    from tests.allocator.factories import Node, book, make_wish
    from tests.identity.factories import make_tenant
    from vxpu.ids import encode

    now, person = datetime.now(UTC), make_tenant()
    principal = person.principal()
    with system_scope():
        node = Node(now=now)
        lease = book(make_wish(starts_at=now - timedelta(seconds=1)), now=now, tenant_id=person.tenant_id)
        node.start(lease, now=now)
        held = [
            tokens.create(
                by=principal, user_id=None, name="bench", scopes=principal.scopes,
                expires_at=now + timedelta(days=1), now=now,
            ).token
            for _ in range(-(-tabs // PER_TOKEN))
        ]  # fmt: skip
    credentials = [Credential(kind="token", id=one.pk, user_id=one.user_id) for one in held]

    def ticket(number: int) -> str:
        return tickets.issue("live", credentials[number // PER_TOKEN].model_dump_json())

    return {"ticket": ticket, "lease": encode("lse", lease.id), "node_token": lambda: node.token(now=datetime.now(UTC))}


@contextmanager
def sockets(*, database: str, valkey: str) -> Iterator[tuple[str, int]]:
    """One process, as the launcher runs it."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ, "DATABASE_URL": database, "REDIS_URL": valkey, "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "DJANGO_SECRET_KEY": uuid4().hex * 2, "VXPU_LOG_LEVEL": "ERROR",
    }  # fmt: skip
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--lifespan", "off"]
    command += ["--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "3"]
    server = subprocess.Popen(command, env=environment)
    try:
        until = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if time.monotonic() > until or server.poll() is not None:
                raise SystemExit("the sockets' process does not start")
            time.sleep(0.1)
        yield f"ws://127.0.0.1:{port}", server.pid
    finally:
        server.terminate()
        server.wait(20)


async def open_tab(address: str, ticket: str) -> ClientConnection:
    tab = await connect(f"{address}/api/v1/live", ping_interval=None, proxy=None)
    await tab.send(json.dumps({"type": "hello", "ticket": ticket, "v": 1}))
    await _wanted(tab, "welcome")
    return tab


async def subscribe(tab: ClientConnection, topic: str) -> None:
    await tab.send(json.dumps({"type": "subscribe", "topic": topic}))
    await _wanted(tab, "snapshot")


async def _wanted(tab: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        frame: dict[str, Any] = json.loads(await tab.recv())
        if frame["type"] == kind:
            return frame


class Process:
    """Memory and CPU time of the sockets' process."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)

    def mib(self) -> float:
        return float(self._process.memory_full_info().uss) / 2**20

    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


async def run_node(address: str, token: str, lease: str, samples: int) -> None:
    """Enough of an agent: waits to be asked, then reads twice a second."""
    from tests.allocator.links import HELLO
    from tests.allocator.test_live_samples import sample
    from vxpu.wire.node import SOCKET_PATH, Samples

    headers = {"Authorization": f"Bearer {token}"}
    async with connect(f"{address}{SOCKET_PATH}", additional_headers=headers, ping_interval=None, proxy=None) as link:
        await link.send(json.dumps(HELLO))
        await _wanted(link, "watch")
        for number in range(samples):
            await asyncio.sleep(0.5)
            await link.send(Samples(leases=[sample(lease, number)]).model_dump_json())


async def latencies(tab: ClientConnection) -> list[float]:
    """Seconds from each reading's time to its frame, until none comes for a while. A newer one may replace another."""
    found: list[float] = []
    while True:
        try:
            frame = await asyncio.wait_for(_wanted(tab, "metrics"), QUIET_S)
        except TimeoutError:
            return found
        found.append((datetime.now(UTC) - datetime.fromisoformat(frame["data"]["at"])).total_seconds())


def row(name: str, times: list[float], cpu: float) -> str:
    ranked = sorted(times)
    p50, p99 = (ranked[int((len(ranked) - 1) * rank)] * 1000 for rank in (0.5, 0.99))
    return f"| {name} | {len(ranked)} | {p50:.1f} | {p99:.1f} | {ranked[-1] * 1000:.0f} | {cpu:.1f} |"


async def watch(
    address: str, cast: dict[str, Any], tabs: list[ClientConnection], samples: int, process: Process
) -> str:
    topic = f"lease/{cast['lease']}/metrics"
    await asyncio.gather(*(subscribe(tab, topic) for tab in tabs))
    began, before = time.monotonic(), process.cpu_s()
    node = asyncio.create_task(run_node(address, cast["node_token"](), cast["lease"], samples))
    found = await asyncio.gather(*(latencies(tab) for tab in tabs))
    cpu = (process.cpu_s() - before) / (time.monotonic() - began) * 100
    await node
    for tab in tabs:
        await tab.send(json.dumps({"type": "unsubscribe", "topic": topic}))
    return row(f"{len(tabs)} watch the lease, {samples} samples", [one for times in found for one in times], cpu)


async def story(address: str, pid: int, cast: dict[str, Any], *, tabs: int, idle_s: float, samples: int) -> None:
    process = Process(pid)
    warm = await open_tab(address, await asyncio.to_thread(cast["ticket"], 0))
    await subscribe(warm, "reservations")
    await warm.close()
    before_mib = process.mib()
    began = time.monotonic()
    opened = []
    for first in range(0, tabs, 20):
        numbers = range(first, min(first + 20, tabs))
        tickets = [await asyncio.to_thread(cast["ticket"], number) for number in numbers]
        batch = await asyncio.gather(*(open_tab(address, ticket) for ticket in tickets))
        await asyncio.gather(*(subscribe(tab, "reservations") for tab in batch))
        opened += batch
    opening_s = time.monotonic() - began
    cpu_before, idle_began = process.cpu_s(), time.monotonic()
    await asyncio.sleep(idle_s)
    cpu = (process.cpu_s() - cpu_before) / (time.monotonic() - idle_began) * 100
    more = process.mib() - before_mib
    print(
        "| tabs | opened a second | process before MiB | more MiB | KiB a tab | CPU % idle |\n|---|---|---|---|---|---|"
    )
    print(
        f"| {tabs} | {tabs / opening_s:.0f} | {before_mib:.0f} | {more:.0f} | {more * 1024 / tabs:.0f} | {cpu:.1f} |\n"
    )
    print("| who | frames | p50 ms | p99 ms | most ms | CPU % |\n|---|---|---|---|---|---|")
    for some in (opened[:SOME], opened):
        print(await watch(address, cast, some, samples, process))
    await asyncio.gather(*(tab.close() for tab in opened))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    tabs = QUICK_TABS if quick else TABS
    with stage(tabs) as (address, pid, cast):
        print(f"load {os.getloadavg()[0]:.1f}")
        asyncio.run(
            story(
                address, pid, cast, tabs=tabs, idle_s=QUICK_IDLE_S if quick else IDLE_S,
                samples=QUICK_SAMPLES if quick else SAMPLES,
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
