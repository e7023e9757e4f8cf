"""The calendar of 100 devices over 62 days: `python -m tests.bench.bench_availability [--quick]`.

About 60 bookings a device, in SQL; then the service and its document, as the door answers them. The mark: < 1 s.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import time
from datetime import UTC, datetime, timedelta

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
DEVICES, DAYS, TIMES = 100, 62, 5
START = datetime(2026, 11, 30, tzinfo=UTC)


def fill(node: object, devices: list[object], *, each: int) -> int:
    """Books as the shop does; returns how many were granted."""
    from tests.bench.bench_book import by_function

    dice, granted = random.Random(7), 0  # noqa: S311 - a workload
    for device in devices:
        attempt = by_function([device])
        granted += sum(attempt(dice) for _ in range(each))
    return granted


def measure() -> tuple[float, float, int]:
    """(seconds of a processor for the service and for its document, bytes): the machine may be busy."""
    from marketplace.api.availability_views import document
    from marketplace.models import EVERYWHERE
    from marketplace.services.availability import availability
    from vxpu.ids import new_uuid

    began = time.process_time()
    found = availability(
        reach=EVERYWHERE, starts_at=START, ends_at=START + timedelta(days=DAYS), memory_mib=1024, share_permille=250,
        device_kind=None, device_id=None, now=START,
    )  # fmt: skip
    served = time.process_time()
    text = json.dumps(document(found, tenant_id=new_uuid()))
    return served - began, time.process_time() - served, len(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the bookings")
    each = 25 if parser.parse_args().quick else 75
    from tests.bench.bench_invoice import database

    logging.disable(logging.WARNING)
    with database():
        from plumbing.rowsec import system_scope
        from tests.bench.fleet import make_node

        with system_scope():
            node = make_node(devices=DEVICES, now=START)
            granted = fill(node, [node.device_id(number) for number in range(DEVICES)], each=each)
            runs = sorted(measure() for _ in range(TIMES))
    service, text, size = runs[TIMES // 2]
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| devices | days | pieces | service ms | document ms | kB |\n|---|---|---|---|---|---|")
    print(f"| {DEVICES} | {DAYS} | {granted} | {service * 1000:.0f} | {text * 1000:.0f} | {size // 1000} |")


if __name__ == "__main__":
    main()
