"""From the request to a real slice: `python -m tests.bench.bench_ready [--quick]`.

Starts the whole stack with the product's own settings, buys an eighth of this machine's device again and again through
REST, and asks each 10 ms until the lease is ready: outbox, worker, poke, agent and report are all in the figure, and
so is the 10 ms. The mark: p50 < 1 s. Also how long a release takes until the slice is gone.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.demo.cast import Tenant, make_tenant, publish_prices
from config.demo.rest import Api
from config.stack import Stack

STEP_S, PATIENCE_S = 0.01, 60.0


def until_state(tenant: Tenant, reservation: str, state: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while tenant.member.get(f"reservations/{reservation}")["lease"]["state"] != state:
        if time.monotonic() > until:
            raise SystemExit(f"{reservation} is not {state} after {PATIENCE_S:.0f} s")
        time.sleep(STEP_S)


def once(tenant: Tenant, size: dict[str, int]) -> tuple[float, float, float]:
    """Seconds until the answer, until ready, and from the release until gone."""
    ends_at = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    began = time.perf_counter()
    made = tenant.member.post("reservations", {"project": tenant.project, "slice": size, "ends_at": ends_at})
    answered = time.perf_counter()
    until_state(tenant, made["id"], "ready")
    ready = time.perf_counter()
    tenant.member.post(f"reservations/{made['id']}/release")
    until_state(tenant, made["id"], "gone")
    return answered - began, ready - began, time.perf_counter() - ready


def row(name: str, times: list[float]) -> str:
    ranked = sorted(times)
    p50, p90 = (ranked[int(len(ranked) * rank)] * 1000 for rank in (0.5, 0.9))
    return f"| {name} | {len(ranked)} | {p50:.0f} | {p90:.0f} | {ranked[-1] * 1000:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds = 10 if parser.parse_args().quick else 40
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with (
        tempfile.TemporaryDirectory(prefix="vxpu-ready-") as folder,
        Stack(var=Path(folder), env=dict(os.environ)) as stack,
    ):
        operator = Api(stack.urls["web"], stack.operator_token)
        device: dict[str, Any] = operator.rows("devices")[0]
        publish_prices(operator, kind=device["kind"])
        tenant = make_tenant(operator, stack.urls["web"], "A", run=f"{int(time.time()):x}")
        size = {"memory_mib": device["capacity_mib"] // 8, "share_permille": 125}
        once(tenant, size)  # the first one warms the worker and the agent
        found = [once(tenant, size) for _ in range(rounds)]
    print("| from | times | p50 ms | p90 ms | most ms |\n|---|---|---|---|---|")
    for name, index in (("request to answer", 0), ("request to ready", 1), ("release to gone", 2)):
        print(row(name, [one[index] for one in found]))


if __name__ == "__main__":
    main()
