"""One stack for all end-to-end tests of a session; each test has a tenant of its own and gives back what it booked."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.demo.cast import Tenant, make_tenant, publish_prices
from config.demo.guests import Guest
from config.demo.numbers import SETTINGS
from config.demo.rest import Api
from config.demo.stage import iso, wait_until
from config.stack import Stack

ReadyLease = Callable[..., dict[str, Any]]
StartGuest = Callable[..., Guest]
_RUNS = itertools.count()
logging.getLogger("httpx").setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var: Path = tmp_path_factory.mktemp("stack")
    with Stack(var=var, env={**os.environ, **SETTINGS}, say=lambda line: print(line, flush=True)) as stack:
        yield stack


@pytest.fixture(scope="session")
def operator(stack: Stack) -> Api:
    return Api(stack.urls["web"], stack.operator_token)


@pytest.fixture(scope="session")
def device(operator: Api) -> dict[str, Any]:
    return operator.rows("devices")[0]


@pytest.fixture(scope="session", autouse=True)
def price(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Nothing is sold without a price. Tests that need no stack get none."""
    needed = ("stack", "browser")
    if not any(item.get_closest_marker(name) for item in request.session.items for name in needed):
        return {}
    operator, device = (request.getfixturevalue(name) for name in ("operator", "device"))
    return publish_prices(operator, kind=device["kind"])


@pytest.fixture
def tenant(stack: Stack, operator: Api) -> Tenant:
    return make_tenant(operator, stack.urls["web"], "A", run=f"{int(time.time()):x}-{next(_RUNS)}")


@pytest.fixture
def ready_lease(tenant: Tenant, device: dict[str, Any]) -> Iterator[ReadyLease]:
    """``ready_lease(part=4, seconds=60)`` -> the reservation once its slice is real; released after the test.

    `part` of the memory, and of the compute unless `share` says how many permille.
    """
    made: list[str] = []

    def reserve(*, part: int = 4, share: int = 0, seconds: int = 600) -> dict[str, Any]:
        size = {"memory_mib": device["capacity_mib"] // part, "share_permille": share or 1000 // part}
        body = {"project": tenant.project, "slice": size, "ends_at": iso(int(time.time()) + seconds)}
        identity = tenant.member.post("reservations", body)["id"]
        made.append(identity)
        return wait_until(
            lambda: dict(tenant.member.get(f"reservations/{identity}")),
            lambda row: row["lease"]["state"] == "ready",
            what="the lease becomes ready",
            timeout_s=30,
        )

    yield reserve
    for identity in made:
        tenant.member.post(f"reservations/{identity}/release")
        wait_until(
            lambda name=identity: tenant.member.get(f"reservations/{name}"),  # type: ignore[misc]
            lambda row: row["lease"]["state"] == "gone",
            what="the lease is gone",
            timeout_s=30,
        )


@pytest.fixture
def start_guest(stack: Stack, tenant: Tenant) -> Iterator[StartGuest]:
    """``start_guest(lease, "saturate", "--seconds", "60")``: `vxpu run` of a guest program; stopped after the test."""
    started: list[Guest] = []

    def start(lease: str, program: str, *args: str) -> Guest:
        guest = Guest.start(
            program, *args, lease=lease, token=tenant.member.token, site=stack.urls["web"],
            socket=stack.layout.agent_socket,
        )  # fmt: skip
        started.append(guest)
        return guest

    yield start
    for guest in started:
        guest.stop()
