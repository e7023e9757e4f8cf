"""Waiting that says what it waits for, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cli.client import Client
from cli.errors import CliError, WaitTimedOut
from cli.exits import ExitCode
from cli.output import say

_FIRST_PAUSE_S = 0.1
_LAST_PAUSE_S = 1.0
LEASE_ENDED = frozenset({"gone", "lost"})
RESERVATION_ENDED = frozenset({"completed", "cancelled", "expired", "rejected", "failed", "no_show", "preempted"})


def wait_for_lease(client: Client, lease_id: str, *, wanted: str = "ready", timeout_s: float) -> dict[str, Any]:
    """The lease document once it is in `wanted`. Raises WaitTimedOut, or CliError when it can't get there any more."""

    def look() -> tuple[dict[str, Any], str]:
        row = client.get(f"/leases/{lease_id}")
        return row, str(row["state"])

    return _wait(look, name=lease_id, wanted=wanted, ended=LEASE_ENDED, timeout_s=timeout_s)


def wait_for_start(client: Client, reservation_id: str, *, timeout_s: float) -> dict[str, Any]:
    """The reservation document once its lease is ready. Raises as `wait_for_lease` does."""

    def look() -> tuple[dict[str, Any], str]:
        row = client.get(f"/reservations/{reservation_id}")
        lease = row.get("lease") or {}
        over = row["state"] in RESERVATION_ENDED or lease.get("state") in LEASE_ENDED
        return row, str(row["state"] if over else lease.get("state") or row["state"])

    ended = RESERVATION_ENDED | LEASE_ENDED
    return _wait(look, name=reservation_id, wanted="ready", ended=ended, timeout_s=timeout_s)


def _wait(
    look: Callable[[], tuple[dict[str, Any], str]], *, name: str, wanted: str, ended: frozenset[str], timeout_s: float
) -> dict[str, Any]:
    until = time.monotonic() + timeout_s
    pause, said = _FIRST_PAUSE_S, ""
    while True:
        row, state = look()
        if state == wanted:
            return row
        if state in ended:
            reason = row.get("end_reason") or (row.get("lease") or {}).get("end_reason") or ""
            raise CliError(
                f"{name} is {state}{f' ({reason})' if reason else ''}, it will not become {wanted}",
                exit_code=ExitCode.EXPIRED,
            )
        if time.monotonic() >= until:
            raise WaitTimedOut(f"{name} is still {state} after {timeout_s:g} s")
        if state != said:
            say(f"{name}: {state}, waiting for {wanted}")
            said = state
        time.sleep(pause)
        pause = min(pause * 1.5, _LAST_PAUSE_S)
