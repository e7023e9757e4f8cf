"""Bookings a second, 8 clients on 8 hot devices: `python -m tests.bench.bench_book [--quick]`.

Two rows: the SQL function alone (`allocator_book`, one statement a transaction), and what the shop calls (search on a
snapshot, then the function). Every answer counts, granted or refused; clients and server share the machine. At the end
the sweep must find nothing. The mark: 1,160-1,529 a second for the function, p99 13-36 ms (two cores).
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
CLIENTS, DEVICES, DAYS = 8, 8, 7
START = datetime(2026, 11, 30, tzinfo=UTC)

Attempt = Callable[[random.Random], bool]


def period(dice: random.Random) -> tuple[datetime, datetime]:
    """A quarter of an hour to four hours within a week."""
    start = START + timedelta(minutes=15 * dice.randrange(DAYS * 96))
    return start, start + timedelta(minutes=15 * dice.randrange(1, 17))


def by_function(devices: list[Any]) -> Attempt:
    from django.db import connection
    from psycopg.types.range import TimestamptzRange

    from vxpu.ids import new_uuid

    def attempt(dice: random.Random) -> bool:
        values = [
            new_uuid(), new_uuid(), new_uuid(), new_uuid(), dice.choice(devices), dice.randrange(50, 500),
            dice.randrange(100, 2000), TimestamptzRange(*period(dice)), False, None, START,
        ]  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute("SELECT refusal FROM allocator_book(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", values)
            return cursor.fetchone()[0] is None

    return attempt


def by_shop(devices: list[Any]) -> Attempt:
    from allocator.errors import DoesNotFit
    from tests.allocator.factories import book, make_wish

    def attempt(dice: random.Random) -> bool:
        starts_at, ends_at = period(dice)
        wish = make_wish(
            share_permille=dice.randrange(50, 500), memory_mib=dice.randrange(100, 2000), starts_at=starts_at,
            ends_at=ends_at, device_id=dice.choice(devices),
        )  # fmt: skip
        try:
            book(wish, now=START)
        except DoesNotFit:
            return False
        return True

    return attempt


def client(attempt: Attempt, seed: int, number: int, gate: threading.Barrier) -> list[tuple[bool, float]]:
    from django.db import connections

    from plumbing.rowsec import system_scope

    dice, answers = random.Random(seed), []  # noqa: S311 - a workload
    try:
        with system_scope():
            gate.wait()
            for _ in range(number):
                began = time.perf_counter()
                granted = attempt(dice)
                answers.append((granted, time.perf_counter() - began))
    finally:
        connections.close_all()
    return answers


def measure(name: str, attempt: Attempt, *, number: int) -> None:
    """One row of the table."""
    gate = threading.Barrier(CLIENTS + 1)
    with ThreadPoolExecutor(CLIENTS) as pool:
        parts = [pool.submit(client, attempt, seed, number // CLIENTS, gate) for seed in range(CLIENTS)]
        gate.wait()
        began = time.perf_counter()
        answers = [answer for part in parts for answer in part.result()]
    took = time.perf_counter() - began
    times = sorted(seconds for _, seconds in answers)
    p50, p99 = (times[int(len(times) * rank)] * 1000 for rank in (0.5, 0.99))
    granted = sum(granted for granted, _ in answers)
    counts = f"{len(answers)} | {granted} | {len(answers) - granted}"
    print(f"| {name} | {counts} | {len(answers) / took:.0f} | {p50:.1f} | {p99:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the bookings")
    number = 800 if parser.parse_args().quick else 8000
    from tests.bench.bench_invoice import database

    logging.disable(logging.WARNING)
    with database():
        from allocator.services.sweep import sweep
        from plumbing.rowsec import system_scope
        from tests.bench.fleet import make_node

        print(f"load before: {os.getloadavg()[0]:.1f}")
        print("| path | bookings | granted | refused | a second | p50 ms | p99 ms |\n|---|---|---|---|---|---|---|")
        for name, path in (("SQL function", by_function), ("search and function", by_shop)):
            with system_scope():
                node = make_node(devices=DEVICES, now=START)
                devices = [node.device_id(n) for n in range(DEVICES)]
            measure(name, path(devices), number=number if path is by_function else number // 4)
        with system_scope():
            found = sweep()
        if found:
            raise SystemExit(f"over capacity: {found}")
        print("the sweep finds nothing over capacity")


if __name__ == "__main__":
    main()
