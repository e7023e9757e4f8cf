"""NVIDIA cards through NVML, where a driver exists. What a card does not support reads as None."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pynvml

from agent.devices.port import Device, measured
from vxpu.states import DeviceKind
from vxpu.units import MIB, WHOLE_PERMILLE
from vxpu.wire.node import Reading

CONTROL_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


class NvidiaPort:
    """The door to NVML; `is_open` False where there is no driver."""

    def __init__(self) -> None:
        try:
            pynvml.nvmlInit()
            self.is_open = True
        except pynvml.NVMLError:
            self.is_open = False

    def discover(self) -> list[Device]:
        if not self.is_open:
            return []
        return [_describe(pynvml.nvmlDeviceGetHandleByIndex(index)) for index in range(pynvml.nvmlDeviceGetCount())]

    def read(self, device: Device, *, at: datetime) -> dict[str, Reading]:
        handle = pynvml.nvmlDeviceGetHandleByUUID(device.key.removeprefix("nvidia:"))
        values: dict[str, int | None] = {
            "utilization_permille": _try(lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu * 10),
            "memory_used_mib": _try(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used // MIB),
            "temperature_c": _try(lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
            "power_mw": _try(lambda: pynvml.nvmlDeviceGetPowerUsage(handle)),
            "energy_mj": _try(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)),
            "sm_clock_mhz": _try(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
            "ecc_uncorrected": _try(lambda: pynvml.nvmlDeviceGetTotalEccErrors(
                handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)),
        }  # fmt: skip
        return {name: measured(value, at=at) for name, value in values.items()}


def _describe(handle: Any) -> Device:
    memory_mib = pynvml.nvmlDeviceGetMemoryInfo(handle).total // MIB
    minor = _try(lambda: pynvml.nvmlDeviceGetMinorNumber(handle))
    return Device(
        key=f"nvidia:{_text(pynvml.nvmlDeviceGetUUID(handle))}",
        kind=DeviceKind.NVIDIA,
        model=_text(pynvml.nvmlDeviceGetName(handle)),
        vendor="NVIDIA",
        compute_units=_try(lambda: pynvml.nvmlDeviceGetNumGpuCores(handle)) or 1,
        memory_mib=memory_mib,
        capacity_mib=memory_mib,
        capacity_permille=WHOLE_PERMILLE,
        nodes=() if minor is None else (f"nvidia{minor}", *CONTROL_NODES),
        note="the CUDA limiter is not there yet: nothing caps memory or time on this card",
    )


def _try(read: Callable[[], int]) -> int | None:
    try:
        return int(read())
    except pynvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
