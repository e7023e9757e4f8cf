"""A device's health from what its driver lets be read: 0 (do not use) to 100, None when nothing tells.

Twelve metrics, each with a score of its own by a curve of straight lines; the device's is the worst of them, since one
bad organ is enough. A reading that is too old or could not be taken has no score: unknown is neither well nor ill.
Readings are the agent's (`agent/devices/nvml_readings.py`); what they mean is in NVIDIA's NVML reference, and, where a
metric says so, in its "GPU Memory Error Management", "XID Errors" and "GPU Debug Guidelines".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = Mapping[str, int | None]
# (reading, score) points; straight lines between them, flat beyond.
Curve = tuple[tuple[int, int], ...]
BEST = 100
# Clocks and the generation of a PCIe link drop by themselves when a card rests: they are judged from this use on.
BUSY_PERMILLE = 500
# `throttle_reasons` bits (NVML, clocks event reasons): working at a power limit that somebody set is no illness.
THROTTLES = {0x8: 40, 0x20: 70, 0x40: 30, 0x80: 40}
# XIDs that NVIDIA's catalogue lays to the hardware or the driver; a program's own faults (13, 31, 43, 45) are not.
XIDS = {48: 20, 62: 20, 63: 80, 64: 0, 74: 40, 79: 0, 92: 60, 94: 60, 95: 0, 119: 20, 120: 20, 140: 20}


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is its main reading, `beside` what its score reads besides; `why` it tells of health, and who says so."""

    name: str
    score: Callable[[Values], int | None]
    beside: tuple[str, ...]
    why: str


def along(curve: Curve, value: int) -> int:
    """The score on the curve."""
    at = bisect_right([reading for reading, _ in curve], value)
    if at == 0:
        return curve[0][1]
    if at == len(curve):
        return curve[-1][1]
    (low, before), (high, after) = curve[at - 1], curve[at]
    return before + (after - before) * (value - low) // (high - low)


def _by(name: str, *curve: tuple[int, int]) -> Callable[[Values], int | None]:
    def score(values: Values) -> int | None:
        value = values.get(name)
        return None if value is None else along(curve, value)

    return score


def _share(name: str, of: str, *curve: tuple[int, int], busy: bool = False) -> Callable[[Values], int | None]:
    """By a reading in thousandths of another; for some only while the device works."""

    def score(values: Values) -> int | None:
        value, whole = values.get(name), values.get(of)
        if not whole or value is None or (busy and (values.get("utilization_permille") or 0) < BUSY_PERMILLE):
            return None
        return along(curve, value * 1000 // whole)

    return score


def _worst(*scores: Callable[[Values], int | None]) -> Callable[[Values], int | None]:
    def score(values: Values) -> int | None:
        return min((found for one in scores if (found := one(values)) is not None), default=None)

    return score


def _throttles(values: Values) -> int | None:
    reasons = values.get("throttle_reasons")
    return None if reasons is None else min((score for bit, score in THROTTLES.items() if reasons & bit), default=BEST)


def _xid(values: Values) -> int | None:
    last = values.get("xid_last")
    return None if last is None else XIDS.get(last, BEST)


# Decades: a few are noise, each tenfold is worse.
_DECADES: Curve = ((0, 100), (10, 95), (100, 85), (1_000, 70), (10_000, 50), (100_000, 30))

METRICS = (
    Metric("temperature_c", _by("temperature_c", (75, 100), (100, 0)), (),
           "drivers slow a card near 90 degrees and stop it near 100 (NVML temperature thresholds)"),
    Metric("memory_temperature_c", _by("memory_temperature_c", (85, 100), (105, 0)), (),
           "memory is slowed from 95 and stopped at about 105 degrees (NVML field MEMORY_TEMP)"),
    Metric("power_mw", _share("power_mw", "power_limit_mw", (1030, 100), (1200, 50)), ("power_limit_mw",),
           "at its limit a card works as it should; well above it the limit does not hold"),
    Metric("throttle_reasons", _throttles, (),
           "slowed by the hardware, a brake or heat; a power cap is no illness (NVML clocks event reasons)"),
    Metric("ecc_corrected", _by("ecc_corrected", *_DECADES), (),
           "corrected errors do no harm, but many of them go before uncorrected ones (GPU Memory Error Management)"),
    Metric("ecc_uncorrected", _by("ecc_uncorrected", (0, 100), (1, 20), (5, 0)), (),
           "data was lost since the driver was loaded (GPU Memory Error Management)"),
    Metric("memory_repairs",
           _worst(_by("memory_repairs", (0, 100), (8, 60), (64, 30)), _by("memory_repair_pending", (0, 100), (1, 50)),
                  _by("memory_repair_failed", (0, 100), (1, 0))),
           ("memory_repair_pending", "memory_repair_failed"),
           "retired pages or remapped rows: memory wears; a repair that failed means a return (GPU Debug Guidelines)"),
    Metric("xid_last", _xid, (), "the driver's last word on a hardware fault (XID Errors)"),
    Metric("pcie_width",
           _worst(_share("pcie_width", "pcie_width_max", (250, 20), (500, 60), (1000, 100)),
                  _share("pcie_generation", "pcie_generation_max", (250, 40), (1000, 100), busy=True)),
           ("pcie_width_max", "pcie_generation", "pcie_generation_max", "utilization_permille"),
           "lanes that were lost are a bad seat or a bad board (GPU Debug Guidelines)"),
    Metric("nvlink_errors", _by("nvlink_errors", *_DECADES), (),
           "replays and recoveries of links slow every exchange, and end in XID 74"),
    Metric("memory_largest_free_mib", _share("memory_largest_free_mib", "memory_free_mib", (0, 60), (800, 100)),
           ("memory_free_mib",), "free memory in small pieces cannot be had in one: a nuisance, no illness"),
    Metric("sm_clock_mhz",
           _worst(_share("sm_clock_mhz", "sm_clock_max_mhz", (300, 30), (600, 100), busy=True),
                  _by("fan_permille", (900, 100), (1000, 70))),
           ("sm_clock_max_mhz", "utilization_permille", "fan_permille"),
           "a busy card far below its clock, or a fan at its end, fights heat or power"),
)  # fmt: skip
BY_NAME = {metric.name: metric for metric in METRICS}


def score_of(name: str, values: Values) -> int | None:
    """0 to 100 for the metric of that name, None for what is none and for the unknown."""
    metric = BY_NAME.get(name)
    return None if metric is None else metric.score(values)


def health(values: Values) -> int | None:
    """The worst score of the metrics that have one."""
    return min((score for metric in METRICS if (score := metric.score(values)) is not None), default=None)


def is_unhealthy(score: int | None, *, floor: int) -> bool:
    """Known, and below the floor."""
    return score is not None and score < floor
