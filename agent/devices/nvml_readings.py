"""What one card reads now, and who is on it. Plain integers in the units of their names; None is "not on this card"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pynvml

from agent.devices.nvml import LOST, Nvml
from vxpu.units import MIB


def _ecc_errors(card: Any, kind: int) -> int:
    return int(pynvml.nvmlDeviceGetTotalEccErrors(card, kind, pynvml.NVML_VOLATILE_ECC))


def _throttle_reasons(card: Any) -> int:
    try:
        return int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(card))
    except pynvml.NVMLError as error:
        if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
            raise
        return int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(card))  # its name before driver 535


@dataclass(frozen=True, slots=True)
class Memory:
    """Of a card, in MiB. `reserved` is the driver's own, which nobody can have; within `used` on drivers before 510."""

    total: int
    reserved: int
    used: int


def memory(card: Any) -> Memory:
    try:
        found = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if error.value in LOST:
            raise
        found = pynvml.nvmlDeviceGetMemoryInfo(card)
        return Memory(found.total // MIB, 0, found.used // MIB)
    return Memory(found.total // MIB, -(-found.reserved // MIB), found.used // MIB)


READINGS: dict[str, Callable[[Any], int]] = {
    "utilization_permille": lambda card: pynvml.nvmlDeviceGetUtilizationRates(card).gpu * 10,
    "memory_utilization_permille": lambda card: pynvml.nvmlDeviceGetUtilizationRates(card).memory * 10,
    "memory_used_mib": lambda card: memory(card).used,
    "temperature_c": lambda card: pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU),
    "power_mw": pynvml.nvmlDeviceGetPowerUsage,
    "power_limit_mw": pynvml.nvmlDeviceGetEnforcedPowerLimit,
    "energy_mj": pynvml.nvmlDeviceGetTotalEnergyConsumption,
    "sm_clock_mhz": lambda card: pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM),
    "memory_clock_mhz": lambda card: pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_MEM),
    "ecc_corrected": lambda card: _ecc_errors(card, pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
    "ecc_uncorrected": lambda card: _ecc_errors(card, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
    "throttle_reasons": _throttle_reasons,
}
# The bits of `throttle_reasons` that say "slower than it could be", by NVML's header; idle (1) is none.
THROTTLES = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "thermal limit of the driver", 0x40: "thermal limit of the card",
    0x80: "power brake",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """How busy one process kept the card's processors in the driver's sample period that ended at `at_us`."""

    pid: int
    at_us: int
    sm_permille: int


def read_all(nvml: Nvml, uuid: str) -> dict[str, int | None]:
    """Raises CardGone."""
    return {name: nvml.ask(uuid, read) for name, read in READINGS.items()}


def process_memory(nvml: Nvml, uuid: str) -> dict[int, int | None] | None:
    """Bytes by pid, as this process's pid namespace numbers them; None for a process whose figure the driver keeps.

    The whole answer is None when the card does not list processes. Raises CardGone.
    """
    lists = [
        nvml.ask(uuid, pynvml.nvmlDeviceGetComputeRunningProcesses),
        nvml.ask(uuid, pynvml.nvmlDeviceGetGraphicsRunningProcesses),
        nvml.ask(uuid, pynvml.nvmlDeviceGetMPSComputeRunningProcesses),
    ]
    if lists[0] is None:
        return None
    found: dict[int, int | None] = {}
    for process in (process for one in lists if one is not None for process in one):
        before, now = found.get(process.pid), process.usedGpuMemory
        found[process.pid] = max((value for value in (before, now) if value is not None), default=None)
    return found


def process_busy(nvml: Nvml, uuid: str, since_us: int) -> list[Sample] | None:
    """Samples later than `since_us`, oldest first; None when the card does not sample processes. Raises CardGone."""

    def read(card: Any) -> list[Any]:
        try:
            return list(pynvml.nvmlDeviceGetProcessUtilization(card, since_us))
        except pynvml.NVMLError as error:
            if error.value in {pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_SUCCESS}:
                return []  # nobody computed since then (pynvml raises even on success with no entry)
            raise

    raw = nvml.ask(uuid, read)
    if raw is None:
        return None
    samples = [
        Sample(one.pid, one.timeStamp, one.smUtil * 10) for one in raw if one.pid and one.timeStamp > since_us
    ]  # drivers pad the list with zeros
    return sorted(samples, key=lambda sample: (sample.at_us, sample.pid))
