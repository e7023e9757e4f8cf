"""Charging and an invoice run on real PostgreSQL: `python -m tests.bench.bench_invoice [--quick]`.

Full: 500 accounts with 20 lines each (10 sources, used and idle, 2 hour buckets) by two workers; quick: 50 accounts.
The mark to beat: 500 accounts and 10,000 lines in 60 s on two cores.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
START = datetime(2026, 6, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS, SOURCES, WORKERS = 2, 10, 2
PERCENTILE_99 = 0.99


@contextmanager
def database() -> Iterator[None]:
    """A fresh database on servers of its own."""
    import django

    django.setup()
    from tests import servers

    with servers.running_servers() as found:
        servers.provide_template(found)
        servers.clone(found, "vxpu_bench")
        servers.point_django_at(found, "vxpu_bench")
        yield
        servers.drop(found, "vxpu_bench")


def make_accounts(count: int) -> list[Any]:
    from billing import facade as billing
    from plumbing.rowsec import system_scope
    from vxpu.ids import new_uuid

    with system_scope():
        return [
            billing.open_account(tenant_id=new_uuid(), name=f"T{n}", currency="EUR", zone="Europe/Berlin", now=START)
            for n in range(count)
        ]


def items_at(hour: int) -> list[Any]:
    """Used and idle time of a quarter of a device."""
    from vxpu.money import DEVICE_HOUR, ChargeItem

    at = START + hour * HOUR
    return [
        ChargeItem(
            kind=kind, starts_at=at, ends_at=at + HOUR, quantity=quantity, divisor=DEVICE_HOUR,
            unit_price=Decimal("3.20"), price_id=UUID(int=1), text="rsv_0: 24 GiB + 25 % of Card A",
        )
        for kind, quantity in (("used", 612_345), ("idle", 287_655))
    ]  # fmt: skip


def charge_all(accounts: Sequence[Any]) -> int:
    """Each hour of each source in a transaction of its own, as rating does it; returns how many."""
    from django.db import connection, transaction

    from billing import facade as billing
    from plumbing.rowsec import system_scope
    from vxpu.ids import new_uuid

    with system_scope():
        for account in accounts:
            for source in [new_uuid() for _ in range(SOURCES)]:
                for hour in range(HOURS):
                    with transaction.atomic():
                        billing.charge(
                            account_id=account.id, tenant_id=account.tenant_id, source=source,
                            bucket=START + hour * HOUR, items=items_at(hour), now=START + HOURS * HOUR,
                        )  # fmt: skip
    connection.close()
    return len(accounts) * SOURCES * HOURS


def close_all(accounts: Sequence[Any]) -> list[float]:
    """Seconds of each close."""
    from django.db import connection

    from billing import facade as billing
    from plumbing.rowsec import system_scope

    times = []
    with system_scope():
        for account in accounts:
            began = time.perf_counter()
            end = START + HOURS * HOUR
            billing.close_period(tenant_id=account.tenant_id, starts_at=START, ends_at=end, now=end)
            times.append(time.perf_counter() - began)
    connection.close()
    return times


def by_two(work: Any, accounts: Sequence[Any]) -> tuple[list[Any], float]:
    """The work by two threads, each with its own connection and half of the accounts; and the seconds it took."""
    began = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(work, [accounts[worker::WORKERS] for worker in range(WORKERS)]))
    return found, time.perf_counter() - began


def check() -> tuple[int, int]:
    """(invoices, lines); raises when a number is missing or the books do not balance."""
    from billing import facade as billing
    from billing.models import Invoice, InvoiceLine
    from plumbing.rowsec import system_scope

    with system_scope():
        numbers = list(Invoice.objects.order_by("number").values_list("number", flat=True))
        balance = sum((row.balance for row in billing.trial_balance(tenant_id=None)), Decimal(0))
        if numbers != list(range(1, len(numbers) + 1)) or balance:
            raise SystemExit("the numbers have a gap, or the ledger is not balanced")
        return len(numbers), InvoiceLine.objects.count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 accounts")
    count = 50 if parser.parse_args().quick else 500
    with database():
        accounts = make_accounts(count)
        charged, charging_s = by_two(charge_all, accounts)
        closed, closing_s = by_two(close_all, accounts)
        times = sorted(second for part in closed for second in part)
        invoices, lines = check()
    print("| what | count | seconds | per second | p50 ms | p99 ms |")
    print("|---|---|---|---|---|---|")
    pace, rate = sum(charged) / charging_s, lines / closing_s
    p50, p99 = times[len(times) // 2] * 1000, times[int(len(times) * PERCENTILE_99)] * 1000
    print(f"| set the charges of a bucket (2 items) | {sum(charged)} | {charging_s:.1f} | {pace:.0f} | | |")
    print(f"| issue {invoices} invoices | {lines} lines | {closing_s:.1f} | {rate:.0f} lines | {p50:.0f} | {p99:.0f} |")


if __name__ == "__main__":
    main()
