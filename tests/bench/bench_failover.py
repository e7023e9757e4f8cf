"""120 of 1,200 nodes are lost at once: `python -m tests.bench.bench_failover [--quick] [--leases 10]`.

Four devices and ten leases a node, each lease a reservation; the public trace has 6.7 pods a node. Timed from the
watch's look (nodes offline, leases fenced) until every reservation has another lease and that is committed. The mark:
1 s. Three losses, one after the other; `--quick` loses 12 of 120. As every watch does, this one has looked before, 2 s
ago, when the nodes had been silent for 29 s: what that look took is shown, and so is the first look of a new process.
CPU: ours with the news that is said afterwards, and PostgreSQL's.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MARK_MS, ROUNDS, DEVICES = 1000, 3, 4

# As rows, for 1,200 enrolments and 12,000 purchases would take an hour. Every trigger of the tables has its say.
FLEET = """
INSERT INTO allocator_node (id, tenant_id, created_at, hostname, machine_id, agent_version, boot_id, state, is_online,
                            last_seen_at, authority_until, rack, standby)
SELECT gen_random_uuid(), %(op)s, %(now)s, 'n' || n, 'm' || n, 'bench', '', 'active', true, %(now)s,
       %(now)s + interval '25 s', 'r' || n / 40, false FROM generate_series(0, %(nodes)s - 1) n;
INSERT INTO allocator_device (id, tenant_id, created_at, node_id, key, kind, model, vendor, simulated, compute_units,
                              memory_mib, capacity_mib, capacity_permille, isolation, isolation_detail,
                              is_present, version)
SELECT gen_random_uuid(), n.tenant_id, n.created_at, n.id, 'd' || d, 'nvidia', 'Bench 80', 'Acme', true, 132, 81920,
       81920, 1000, 'limiter-strict', '', true, 0 FROM allocator_node n, generate_series(0, %(devices)s - 1) d;
CREATE TEMP TABLE made AS
SELECT gen_random_uuid() AS lease, gen_random_uuid() AS owner, d.id AS device, d.node_id AS node, 100 + 50 * (k
       %% 5) AS permille,
       8192 + 2048 * (k %% 5) AS mib,
       CASE k %% 3 WHEN 0 THEN NULL ELSE %(now)s + k * interval '3 h' + interval '2 h' END AS ends_at
  FROM generate_series(0, %(leases)s - 1) k JOIN allocator_device d ON d.key = 'd' || k %% %(devices)s;
INSERT INTO allocator_lease (id, tenant_id, created_at, owner, device_id, node_id, state, share_permille,
       memory_mib, whole,
                             isolation, token, version, starts_at, ends_at, offered_at, end_reason)
SELECT lease, %(tenant)s, %(past)s, owner, device, node, 'assigned', permille, mib, false, 'limiter-strict',
       nextval('allocator_fencing'), 1, %(past)s, ends_at, %(past)s, '' FROM made;
INSERT INTO allocator_segment (id, tenant_id, created_at, lease_id, device_id, permille, mib, device_mib,
       period, mode_class,
                               live)
SELECT gen_random_uuid(), %(tenant)s, %(past)s, lease, device, permille, mib, 81920, tstzrange(%(past)s,
       ends_at), 0, true
  FROM made;
UPDATE allocator_lease SET state = 'ready', ready_at = %(past)s;
INSERT INTO marketplace_reservation (
    id, tenant_id, created_at, project_id, account_id, requested_by, state, version, memory_mib, share_permille,
       starts_at,
    ends_at, end_reason, sku, device_kind, isolation_at_least, policy, lease_id, device_id, price_id,
       unit_price, currency,
    waits_for, changed_at, changed_by, change_reason)
SELECT owner, %(tenant)s, %(past)s, %(tenant)s, %(tenant)s, %(tenant)s, 'confirmed', 1, mib, permille, %(past)s,
       ends_at, '',
       '', 'nvidia', '', '', lease, device, %(price)s, 3.2, 'EUR', '', %(past)s, 'bench', 'bench' FROM made;
UPDATE marketplace_reservation SET state = 'activating', version = 2;
UPDATE marketplace_reservation SET state = 'active', version = 3;
INSERT INTO marketplace_placement (id, tenant_id, created_at, reservation_id, lease_id, device_id, device_kind,
       device_model,
                                   device_mib, device_simulated, booked_from, is_current)
SELECT gen_random_uuid(), %(tenant)s, %(past)s, owner, lease, device, 'nvidia', 'Bench 80', 81920, true,
       %(past)s, true
  FROM made;
DROP TABLE made;
INSERT INTO allocator_pulse (id, tenant_id, created_at, part, beat_at, up_since)
VALUES (gen_random_uuid(), %(op)s, %(past)s, 'watch', %(now)s, %(past)s);
"""


def build(nodes: int, leases: int) -> None:
    from django.conf import settings
    from django.db import connection

    from tests.marketplace.factories import make_price
    from vxpu.ids import new_uuid

    values: dict[str, Any] = {
        "op": settings.VXPU_OPERATOR_TENANT, "tenant": new_uuid(), "price": make_price("3.20", sku="nvidia").pk,
        "now": NOW, "past": NOW - timedelta(minutes=5), "nodes": nodes, "devices": DEVICES, "leases": leases,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for statement in FLEET.split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)


def hear(*, now: datetime) -> None:
    """Every node that is online, and the watch."""
    from allocator.models import Node, Pulse

    Node.objects.filter(is_online=True).update(last_seen_at=now, authority_until=now + timedelta(seconds=25))
    Pulse.objects.update(beat_at=now)


def lose(number: int, *, silent: datetime, now: datetime) -> None:
    """A tenth of the nodes was heard last when they fell `silent`; the others and the watch beat on."""
    from allocator.models import Node

    hear(now=now)
    Node.objects.filter(is_online=True, hostname__endswith=str(number)).update(
        last_seen_at=silent, authority_until=silent + timedelta(seconds=25)
    )


class Watch:
    """Times calls by name, as they are made inside."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = defaultdict(float)

    def on(self, place: Any, *names: str) -> None:
        for name in names:
            setattr(place, name, self._timed(name, getattr(place, name)))

    def _timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.ms[name] += (time.perf_counter() - began) * 1000

        return run


def server_cpu_ms() -> float:
    """What the server's processes have computed so far, those that have ended included."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    server = _stat(pid)[1]
    ended = _stat(server)[13:15]
    stats = (_stat(one.name) for one in Path("/proc").glob("[0-9]*"))
    live = [ticks for stat in stats if stat[1] == server for ticks in stat[11:13]]
    return sum(map(int, [*ended, *live])) * 1000 / os.sysconf("SC_CLK_TCK")


def _stat(pid: object) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on (proc(5)); of a process that has just ended, empty ones."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", ""]


COLUMNS = ("watch_nodes", "find", "find_places", "book_all", "bind_all", "tell")


def look(*, now: datetime) -> float:
    """A beat of the watch; returns ms."""
    from marketplace.services import fail_over

    began = time.perf_counter()
    fail_over.watch(now=now)
    return (time.perf_counter() - began) * 1000


def measure(number: int, watch: Watch) -> float:
    """One row; returns the time from the verdict to the last booking in ms."""
    from marketplace.services import fail_over

    now = NOW + timedelta(minutes=number)
    silent = now - timedelta(seconds=31)
    lose(number, silent=silent, now=now - timedelta(seconds=2))
    ahead = look(now=now - timedelta(seconds=2))
    lose(number, silent=silent, now=now)
    watch.ms.clear()
    began, ours, servers = time.perf_counter(), time.process_time(), server_cpu_ms()
    done = fail_over.watch(now=now)
    took = (time.perf_counter() - began) * 1000
    time.sleep(0.3)  # until the server has buried the process of a connection that was closed
    cpu = f"{(time.process_time() - ours) * 1000:.0f} | {server_cpu_ms() - servers:.0f}"
    placed = took - watch.ms["tell"]
    parts = [f"{watch.ms[name]:.0f}" for name in COLUMNS]
    cells = [number + 1, f"{ahead:.0f}", done.found, done.placed, f"{placed:.0f}", cpu, *parts]
    print(f"| {' | '.join(map(str, cells))} | {os.getloadavg()[0]:.1f} |", flush=True)
    return placed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="120 nodes")
    parser.add_argument("--leases", type=int, default=10, help="a node")
    asked = parser.parse_args()
    nodes, leases = 120 if asked.quick else 1200, asked.leases
    from tests.bench.bench_invoice import database

    logging.disable(logging.WARNING)
    with database():
        from allocator import facade
        from allocator.services.sweep import sweep
        from marketplace.services import _lost, _relocation, fail_over
        from plumbing.rowsec import system_scope

        watch = Watch()
        watch.on(facade, "watch_nodes", "find_places", "book_all")
        watch.on(_relocation, "bind_all")
        watch.on(_lost.LOST, "find")
        watch.on(fail_over, "tell")
        with system_scope():
            began = time.perf_counter()
            build(nodes, leases)
            print(f"built {nodes} nodes with {nodes * leases} leases in {time.perf_counter() - began:.0f} s")
            print(f"the first look takes {look(now=NOW - timedelta(minutes=1)):.0f} ms")
            heads = ["loss", "beat before ms", "lost", "placed", "placed after ms", "our CPU", "PostgreSQL's", *COLUMNS]
            print(f"| {' | '.join(heads)} | load |\n|{'---|' * (len(heads) + 1)}")
            slowest = max(measure(number, watch) for number in range(ROUNDS))
            found = sweep()
    if found:
        raise SystemExit(f"over capacity: {found}")
    if slowest > MARK_MS and nodes == 1200:
        raise SystemExit(f"{slowest:.0f} ms is over {MARK_MS}")


if __name__ == "__main__":
    main()
