"""The demand of the saturating program: what it takes of this machine with no slice around it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from config.demo.guests import Guest


@dataclass(frozen=True)
class Calibration:
    """`demand_permille` of all cores; `rounds` makes one kernel last some ten milliseconds on this machine."""

    demand_permille: int
    rounds: int


def calibrate(*, seconds: int) -> Calibration:
    """Run the program free for `seconds` and read its CPU time from outside. Raises GuestFailed."""
    guest = Guest.start_outside("saturate", "--seconds", str(seconds + 1))
    try:
        guest.wait_steady()
        process = psutil.Process(guest.process.pid)
        before, began = sum(process.cpu_times()[:2]), time.monotonic()
        time.sleep(seconds)
        used, wall = sum(process.cpu_times()[:2]) - before, time.monotonic() - began
        _, report = guest.finish()
    finally:
        guest.stop()
    return Calibration(int(used * 1000 / wall / (psutil.cpu_count() or 1)), int(report["rounds"]))
