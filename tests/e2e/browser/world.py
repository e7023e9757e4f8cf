"""A site with something to see: a tenant in the middle of its day, an operator with a fleet.

Everything is made through the product's own doors. The fleet's devices are simulated and say so.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from config.demo.cast import Tenant, make_tenant, publish_prices, put_on_the_shelf
from config.demo.guests import Guest
from config.demo.rest import Api
from config.demo.stage import iso, wait_until
from config.programs import ROOT
from config.stack import Stack

HOUR_S = 3600
FLEET_DEVICES = 1000


@dataclass(frozen=True)
class World:
    """`live` and `tomorrow` are reservations of `tenant`; a program runs in `live`."""

    stack: Stack
    operator: Api
    tenant: Tenant
    device: dict[str, Any]
    live: dict[str, Any]
    tomorrow: dict[str, Any]


@contextmanager
def living_world(stack: Stack, *, fleet: int = FLEET_DEVICES) -> Iterator[World]:
    """The world while its program runs; the leases are released after it."""
    operator = Api(stack.urls["web"], stack.operator_token)
    device = operator.rows("devices")[0]
    publish_prices(operator, kind=device["kind"])
    put_on_the_shelf(operator, device)
    tenant = make_tenant(operator, stack.urls["web"], "A", run=f"{int(time.time()):x}")
    live = _ready(tenant, device)
    guest = Guest.start(
        "saturate", "--seconds", "3600", lease=live["lease"]["id"], token=tenant.member.token,
        site=stack.urls["web"], socket=stack.layout.agent_socket,
    )  # fmt: skip
    try:
        _release_one(tenant, device)
        tomorrow = _tomorrow(tenant, device)
        guest.wait_steady(60)
        with simulated_fleet(stack, devices=fleet):
            yield World(stack, operator, tenant, device, live, tomorrow)
    finally:
        guest.stop()
        tenant.member.post(f"reservations/{live['id']}/release")


@contextmanager
def simulated_fleet(stack: Stack, *, devices: int) -> Iterator[None]:
    """While it lives, its machines report as real ones do; then they leave the fleet."""
    command = [sys.executable, "manage.py", "simulate_fleet", "--devices", str(devices)]
    process = subprocess.Popen(command, cwd=ROOT, env=stack.env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if not any("The simulated fleet runs" in line for line in process.stdout):
            raise RuntimeError(f"the fleet ended with {process.wait()}")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


def _size(device: dict[str, Any], part: int) -> dict[str, int]:
    return {"memory_mib": int(device["capacity_mib"]) // part, "share_permille": 1000 // part}


def _ready(tenant: Tenant, device: dict[str, Any], *, name: str = "Fine-tune digits") -> dict[str, Any]:
    made = tenant.member.post(
        "reservations",
        {"project": tenant.project, "slice": _size(device, 4), "device": device["id"], "name": name,
         "ends_at": iso(int(time.time()) + HOUR_S)},
    )  # fmt: skip
    return wait_until(
        lambda: dict(tenant.member.get(f"reservations/{made['id']}")),
        lambda row: row["lease"]["state"] == "ready",
        what="the lease becomes ready",
        timeout_s=30,
    )


def _release_one(tenant: Tenant, device: dict[str, Any]) -> None:
    ended = _ready(tenant, device, name="Nightly evaluation")
    time.sleep(5)
    tenant.member.post(f"reservations/{ended['id']}/release")


def _tomorrow(tenant: Tenant, device: dict[str, Any]) -> dict[str, Any]:
    starts = (int(time.time()) // HOUR_S + 20) * HOUR_S
    body = {
        "project": tenant.project, "slice": _size(device, 2), "device": device["id"], "name": "Hyper-parameter sweep",
        "starts_at": iso(starts), "ends_at": iso(starts + 4 * HOUR_S),
    }  # fmt: skip
    return dict(tenant.member.post("reservations", body))
