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


def _memory_temperature(card: Any) -> int:
    (field,) = pynvml.nvmlDeviceGetFieldValues(card, [pynvml.NVML_FI_DEV_MEMORY_TEMP])
    if field.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(field.nvmlReturn)
    return int(field.value.uiVal)


def _repairs(card: Any) -> tuple[int, int, int]:
    """(done, waiting for a reset, failed): remapped rows, or retired pages on cards of before Ampere."""
    try:
        corrected, uncorrected, pending, failed = pynvml.nvmlDeviceGetRemappedRows(card)
    except pynvml.NVMLError as error:
        if error.value in LOST:
            raise
        causes = (
            pynvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
            pynvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
        )
        pages = sum(len(pynvml.nvmlDeviceGetRetiredPages(card, cause)) for cause in causes)
        return pages, int(pynvml.nvmlDeviceGetRetiredPagesPendingStatus(card)), 0
    return corrected + uncorrected, int(pending), int(failed)


def _nvlink_errors(card: Any) -> int:
    """Replays, recoveries and checksum errors of all active links since they came up."""
    found = 0
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            if pynvml.nvmlDeviceGetNvLinkState(card, link):
                found += sum(int(pynvml.nvmlDeviceGetNvLinkErrorCounter(card, link, one)) for one in _LINK_ERRORS)
        except pynvml.NVMLError as error:
            if link == 0 or error.value != pynvml.NVML_ERROR_INVALID_ARGUMENT:
                raise
            break  # as many links as that
    return found


_LINK_ERRORS = (
    pynvml.NVML_NVLINK_ERROR_DL_REPLAY, pynvml.NVML_NVLINK_ERROR_DL_RECOVERY, pynvml.NVML_NVLINK_ERROR_DL_CRC_FLIT,
    pynvml.NVML_NVLINK_ERROR_DL_CRC_DATA,
)  # fmt: skip

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
    "memory_temperature_c": _memory_temperature,
    "sm_clock_max_mhz": lambda card: pynvml.nvmlDeviceGetMaxClockInfo(card, pynvml.NVML_CLOCK_SM),
    "fan_permille": lambda card: pynvml.nvmlDeviceGetFanSpeed(card) * 10,
    "pcie_width": pynvml.nvmlDeviceGetCurrPcieLinkWidth,
    "pcie_width_max": pynvml.nvmlDeviceGetMaxPcieLinkWidth,
    "pcie_generation": pynvml.nvmlDeviceGetCurrPcieLinkGeneration,
    "pcie_generation_max": pynvml.nvmlDeviceGetMaxPcieLinkGeneration,
    "memory_repairs": lambda card: _repairs(card)[0],
    "memory_repair_pending": lambda card: _repairs(card)[1],
    "memory_repair_failed": lambda card: _repairs(card)[2],
    "nvlink_errors": _nvlink_errors,
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
