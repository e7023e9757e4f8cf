"""The durations, sizes and prices of the main job: a short play, in seconds after the first booking."""

from __future__ import annotations

from dataclasses import dataclass

# The product's own settings, as its environment takes them; nothing in the product knows that this is a demonstration.
SETTINGS = {
    "VXPU_HEARTBEAT_S": "1",
    "VXPU_WINDOW_S": "2",
    "VXPU_GRACE_S": "2",
    "VXPU_RATING_PERIOD_S": "30",
    "VXPU_HOST_RESERVE_PERMILLE": "200",  # beside 1/4 and 1/2 a little is left, for a refusal to name what still fits
}
WINDOW_S = int(SETTINGS["VXPU_WINDOW_S"])
CURRENCY = "EUR"
ZONE = "Europe/Berlin"

DEVICE_HOUR_PRICE = "360.0000000000"
"""EUR for a whole device and hour: ten cents a second, so that a minute's invoice has figures to look at."""

TOLERANCE_PERMILLE = 20
"""Two points of a device: how far a delivered share may lie from min(purchased, demand)."""

SOON_S = 5.0
"""How long "starts at its time" and "is ready" may take here, where the stack, the slices and the clock share cores."""


@dataclass(frozen=True)
class Timing:
    """B holds until `b_ends`, which is when C's slot begins; A ends `a_outlives` after that, C after `c_length`."""

    b_ends: int = 60
    a_outlives: int = 8
    c_length: int = 20
    calibration: int = 3
    least_steady: int = 6
    """Length of the shortest measured stretch."""


FULL = Timing()
QUICK = Timing(b_ends=54, a_outlives=6, c_length=18, calibration=2)
"""The same play for the test that runs on each change."""
