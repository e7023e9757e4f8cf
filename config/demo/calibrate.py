"""The demand of the saturating program: what it would take of this machine with no slice around it.

Other programs share the cores (this stack among them), so the processor time that it got is not what it asked for.
The kernel keeps both: for each thread the time on a core and the time it stood in line for one (``schedstat``, first
and second field, nanoseconds; Documentation/scheduler/sched-stats.rst). Their sum is the demand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from config.demo.guests import Guest


@dataclass(frozen=True)
class Calibration:
    """Permille of all cores; `rounds` makes one kernel last some ten milliseconds on this machine."""

    demand_permille: int
    got_permille: int
    rounds: int


def calibrate(*, seconds: int, units: int) -> Calibration:
    """Run the program free for `seconds` on a device of `units` cores; its times are read from outside.

    Raises GuestFailed.
    """
    guest = Guest.start_outside("saturate", "--seconds", str(seconds + 1))
    try:
        guest.wait_steady()
        on_core, in_line = _times(guest.process.pid)
        began = time.monotonic_ns()
        time.sleep(seconds)
        on_core_after, in_line_after = _times(guest.process.pid)
        all_cores = (time.monotonic_ns() - began) * units
        _, report = guest.finish()
    finally:
        guest.stop()
    got, waited = on_core_after - on_core, in_line_after - in_line
    demand = min(1000, (got + waited) * 1000 // all_cores)
    return Calibration(demand, got * 1000 // all_cores, int(report["rounds"]))


def _times(pid: int) -> tuple[int, int]:
    """(on a core, in line for one) of all its threads, in nanoseconds."""
    stats = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(words[0]) for words in stats), sum(int(words[1]) for words in stats)
