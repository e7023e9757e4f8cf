"""The durations, sizes and prices of the main job. A short script of a play: everything is in seconds after booking."""

from __future__ import annotations

from dataclasses import dataclass

# The product's own settings, as its environment takes them; nothing in the product knows that this is a demo.
SETTINGS = {
    "VXPU_HEARTBEAT_S": "1",
    "VXPU_WINDOW_S": "2",
    "VXPU_GRACE_S": "2",
    "VXPU_RATING_PERIOD_S": "30",
}
WINDOW_S = int(SETTINGS["VXPU_WINDOW_S"])

DEVICE_HOUR_PRICE = "36.0000000000"
"""EUR for a whole device and hour: one second of it is a cent, so that a minute's invoice has figures to look at."""

TOLERANCE_PERMILLE = 20
"""Two points of a device: how far a delivered share may lie from min(purchased, demand)."""


@dataclass(frozen=True)
class Timing:
    """Seconds after the booking, unless it says otherwise."""

    b_ends: int = 42
    """A's and C's periods follow from it: C's begins here, at the next free time that the refusal named."""
    c_length: int = 24
    steady: int = 10
    """Length of a measured stretch."""
    calibration: int = 3


FULL = Timing()
QUICK = Timing(b_ends=30, c_length=20, steady=6, calibration=2)
"""For the test that runs the job in a bounded form."""
