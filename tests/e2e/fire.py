"""The fire: parts of a stack killed at random, customers who buy on all the same, and what must be true afterwards."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from agent.config import Config
from agent.enforce.cgroup import find_home
from config.demo.cast import Tenant
from config.demo.node_books import node_count
from config.demo.rest import Api, Refused
from config.demo.settle import _is_balanced
from config.demo.stage import StoryBroke, iso, wait_until
from config.stack import Stack, StackFailed
from tests.e2e.test_under_fire import starts_of
from vxpu.ids import decode

PARTS = ("web", "sockets", "worker", "beat", "agent", "postgres", "valkey")


def kill_at_random(stack: Stack, *, seconds: float, seed: int) -> Counter[str]:
    """kill -9 of one part every one to five seconds; how often each was hit."""
    own, hits = random.Random(seed), Counter[str]()  # noqa: S311 - a repeatable story
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        part = own.choice(PARTS)
        with suppress(StackFailed, ProcessLookupError):  # it is down already
            stack.kill9(part)
            hits[part] += 1
        time.sleep(own.uniform(1, 5))
    for part in PARTS:
        stack.wait_healthy(part, 60)
    return hits


def outage(stack: Stack, part: str, *, seconds: float) -> None:
    """One part is away for the whole time, then comes back."""
    stack.take_down(part)
    time.sleep(seconds)
    stack.bring_up(part)
    stack.wait_healthy(part, 60)


@contextmanager
def customers(tenant: Tenant, device: dict[str, Any]) -> Iterator[Counter[str]]:
    """Someone who books small slices for seconds, and gives some of them back, as long as the block lasts."""
    over, seen = threading.Event(), Counter[str]()
    thread = threading.Thread(target=_buy_on, args=(tenant, device, over, seen), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join(120)


def _buy_on(tenant: Tenant, device: dict[str, Any], over: threading.Event, seen: Counter[str]) -> None:
    own = random.Random(7)  # noqa: S311 - a repeatable story
    size = {"memory_mib": int(device["capacity_mib"]) // 32, "share_permille": 25}
    while not over.wait(own.uniform(1, 4)):
        try:
            ends = iso(int(time.time()) + own.randrange(8, 25))
            made = tenant.member.post("reservations", {"project": tenant.project, "slice": size, "ends_at": ends})
            seen["booked"] += 1
            if own.random() < 0.5 and not over.wait(own.uniform(0, 5)):
                tenant.member.post(f"reservations/{made['id']}/release")
                seen["released"] += 1
        except Refused as refused:
            seen[f"{refused.status}_{refused.document.get('code', '')}"] += 1
        except httpx.TransportError:
            seen["unanswered"] += 1


def has_ended_rightly(row: dict[str, Any]) -> bool:
    """Completed; or never delivered: cancelled before its start, failed when its time passed before it was ready."""
    lease = row["lease"] or {"state": "gone", "ready_at": None}
    undelivered = row["state"] in {"cancelled", "failed"} and lease["ready_at"] is None
    return lease["state"] == "gone" and (row["state"] == "completed" or undelivered)


def await_ends(tenant: Tenant) -> list[dict[str, Any]]:
    """Every reservation of the tenant, once all have come to a right end."""
    wait_until(
        lambda: [row for row in tenant.member.rows("reservations") if not has_ended_rightly(row)],
        lambda rows: not rows,
        what="every reservation has ended",
        timeout_s=90,
    )
    return tenant.member.rows("reservations")


def count_windows(stack: Stack, tenant: Tenant, lease: str) -> tuple[int, int]:
    """(windows that the node made, that the server counted), once nothing is on its way any more."""

    def look() -> tuple[int, int, int, int]:
        usage = dict(tenant.member.get(f"leases/{lease}/usage"))
        node = node_count(stack.layout.agent_state, lease)
        starts = starts_of(usage)
        assert usage["windows_counted"] == len(starts) == len(set(starts))
        return node.closed, usage["windows_counted"], node.unsent, usage["seqs_missing"]

    with suppress(StoryBroke):  # then the figures say so
        return wait_until(look, lambda one: one[0] == one[1] and not one[2] and not one[3],
                          what=f"all windows of {lease} arrive", timeout_s=30)[:2]  # fmt: skip
    return look()[:2]


def await_books(operator: Api, device: dict[str, Any], price: dict[str, Any]) -> dict[str, Any]:
    """The device's permille-seconds since the first sale, once everything is rated; exact, or StoryBroke."""
    query = {"device": device["id"], "from": price["valid_from"], "to": iso(int(time.time()))}

    def exact(parts: dict[str, Any]) -> bool:
        return bool(parts["cut"] == 0 and parts["charged"] + parts["idle"] - parts["over_recovery"] == parts["total"])

    return wait_until(
        lambda: dict(operator.get("reconciliation", **query)["permille_seconds"]), exact, what="the device adds up",
        timeout_s=90,
    )  # fmt: skip


def is_balanced(operator: Api) -> bool:
    return _is_balanced(operator.get("ledger"))


def left_over(stack: Stack, leases: list[str]) -> list[str]:
    """Processes that still run in these slices, and control groups of the node's slices."""
    config = Config(server="", state_dir=stack.layout.agent_state, run_dir=stack.layout.agent().run)
    groups = find_home(config.cgroup_name).names()
    names = {*leases, *(str(decode("lse", lease)) for lease in leases)}
    return groups + [f"pid {one.pid}" for one in psutil.process_iter() if _lease_of(one.pid) in names]


def _lease_of(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return next((os.fsdecode(word[12:]) for word in words if word.startswith(b"VXPU_LEASE=")), "")
    return ""
