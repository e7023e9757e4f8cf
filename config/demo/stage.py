"""What the acts share: the site, the device, the clock, and what each tenant bought and did."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from config.demo.calibrate import Calibration
from config.demo.cast import Tenant
from config.demo.guests import Guest
from config.demo.host import Watch
from config.demo.measure import Stretch
from config.demo.numbers import Timing
from config.demo.rest import Api
from config.demo.screen import Screen

T = TypeVar("T")


class StoryBroke(RuntimeError):
    """The job can't go on; the message says at what."""


@dataclass
class Bought:
    """A reservation of a tenant, with what its programs reported."""

    tenant: Tenant
    reservation: str
    lease: str
    memory_mib: int
    share_permille: int
    promised_isolation: str
    starts_at: float
    ends_at: float
    isolation: str = ""
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    stretches: list[Stretch] = field(default_factory=list)


@dataclass
class Stage:
    """One run of the job. `began_at` opens the billing period; times are seconds since the epoch."""

    site: str
    socket: Path
    agent_state: Path
    operator: Api
    screen: Screen
    timing: Timing
    watch: Watch
    began_at: float = field(default_factory=lambda: math.floor(time.time()))
    device: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration = field(default_factory=lambda: Calibration(0, 0, 0))
    tenants: dict[str, Tenant] = field(default_factory=dict)
    bought: dict[str, Bought] = field(default_factory=dict)
    guests: list[Guest] = field(default_factory=list)

    def start(self, program: str, *args: str, by: Bought) -> Guest:
        """A guest program of this tenant in its slice, by `vxpu run`; it is stopped when the demo ends."""
        guest = Guest.start(
            program, *args, lease=by.lease, token=by.tenant.member.token, site=self.site, socket=self.socket
        )
        self.guests.append(guest)
        return guest

    def run(self, program: str, *, by: Bought) -> None:
        by.codes[program], by.reports[program] = self.start(program, by=by).finish()

    def end_guests(self) -> None:
        for guest in self.guests:
            guest.stop()


def wait_until(look: Callable[[], T], done: Callable[[T], bool], *, what: str, timeout_s: float) -> T:
    """Look again and again until `done`; raises StoryBroke with the last thing seen."""
    until = time.monotonic() + timeout_s
    while True:
        seen = look()
        if done(seen):
            return seen
        if time.monotonic() > until:
            raise StoryBroke(f"{what}: not within {timeout_s:g} s; last seen: {seen}")
        time.sleep(0.1)


def instant(text: str) -> float:
    """Seconds since the epoch of the API's ISO 8601."""
    return datetime.fromisoformat(text).timestamp()


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def sleep_until(at: float) -> None:
    time.sleep(max(0.0, at - time.time()))
