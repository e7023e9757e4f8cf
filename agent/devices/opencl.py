"""OpenCL devices. A machine's processors are one device however many drivers show them; other devices are one each."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from agent.config import ROOT, interpreter_paths
from agent.devices.port import Device, less_reserve, measured
from vxpu.states import DeviceKind
from vxpu.units import MIB, WHOLE_PERMILLE
from vxpu.wire.node import Reading

VENDORS = Path("/etc/OpenCL/vendors")
PROBE_S = 30
# Another file where an agent does not see the machine's own, or where two share a machine (each with a part of it).
MACHINE_ID = Path(os.environ.get("VXPU_MACHINE_ID_FILE") or "/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Found:
    """One device as one driver shows it."""

    icd: str
    type: str
    name: str
    vendor: str
    compute_units: int
    memory_mib: int


class OpenClPort:
    """The door to whatever OpenCL drivers are installed: the system's first, then those in the Python environment."""

    def __init__(self, *, reserve_permille: int, skip_vendors: tuple[str, ...] = ()) -> None:
        self.reserve_permille = reserve_permille
        self.skip_vendors = skip_vendors

    def discover(self) -> list[Device]:
        found = [device for icd in driver_libraries() for device in ask_driver(icd)]
        others = [
            device for device in found
            if device.type != "cpu" and not any(name in device.vendor.lower() for name in self.skip_vendors)
        ]  # fmt: skip
        cards = [card_device(device, index) for index, device in enumerate(_once(others))]
        return [cpu_device([device for device in found if device.type == "cpu"], self.reserve_permille), *cards]

    def read(self, device: Device, *, at: datetime) -> dict[str, Reading]:
        if device.kind != DeviceKind.CPU:
            return {name: measured(None, at=at) for name in ("utilization_permille", "memory_used_mib")}
        memory = psutil.virtual_memory()
        return {
            "utilization_permille": measured(round(psutil.cpu_percent() * 10), at=at),
            "memory_used_mib": measured((memory.total - memory.available) // MIB, at=at),
            "temperature_c": measured(None, at=at),
            "power_mw": measured(None, at=at),
        }


def driver_libraries() -> list[str]:
    """Paths of the drivers named in ``*.icd`` files, the system's before those that Python wheels bring."""
    lists = [*sorted(VENDORS.glob("*.icd"))]
    for prefix in interpreter_paths():
        lists += sorted(prefix.glob("lib/python*/site-packages/pyopencl/.libs/*.icd"))
    found: list[str] = []
    for path in lists:
        name = path.read_text().strip()
        beside = path.parent / name
        library = str(beside.resolve()) if name and beside.exists() else name
        if library and library not in found:
            found.append(library)
    return found


def ask_driver(icd: str) -> list[Found]:
    """What one driver shows, asked in a process with an empty environment; nothing when it fails or hangs."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(ROOT)}
    try:
        with tempfile.TemporaryDirectory(prefix="vxpu-probe-") as home:  # a driver wants a cache it may write to
            asked = subprocess.run(
                [sys.executable, "-m", "agent.devices.opencl_probe", icd], env={**environment, "HOME": home}, cwd="/",
                capture_output=True, timeout=PROBE_S, check=True,
            )  # fmt: skip
        answers: list[dict[str, Any]] = json.loads(asked.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        return []
    return [
        Found(icd, answer["type"], answer["name"], answer["vendor"], answer["compute_units"],
              answer["memory_bytes"] // MIB)
        for answer in answers
    ]  # fmt: skip


def cpu_device(shown: list[Found], reserve_permille: int) -> Device:
    """The machine's processors as one device, sold less the host reserve; without any driver it is sold all the same.

    Capacity is min(shown by the driver, physical memory) less the reserve: the stack shares the cores.
    """
    physical_mib = psutil.virtual_memory().total // MIB
    first = shown[0] if shown else None
    memory_mib = min(first.memory_mib, physical_mib) if first else physical_mib
    return Device(
        key=f"cpu:{machine_hash()}",
        kind=DeviceKind.CPU,
        model=_processor_name(first),
        vendor=first.vendor if first else "unknown",
        compute_units=first.compute_units if first else len(os.sched_getaffinity(0)),
        memory_mib=physical_mib,
        capacity_mib=less_reserve(memory_mib, reserve_permille),
        capacity_permille=less_reserve(WHOLE_PERMILLE, reserve_permille),
        icd=first.icd if first else "",
        fenced=True,
        note="" if first else "no OpenCL driver: CPU time and memory only",
    )


def card_device(shown: Found, index: int) -> Device:
    """A card behind a generic driver: counted and paced by the library in the guest, with no fence of the kernel."""
    return Device(
        key=f"opencl:{hashlib.sha256(f'{shown.vendor}/{shown.name}/{index}'.encode()).hexdigest()[:16]}",
        kind=DeviceKind.OPENCL,
        model=shown.name,
        vendor=shown.vendor,
        compute_units=max(1, shown.compute_units),
        memory_mib=max(1, shown.memory_mib),
        capacity_mib=max(1, shown.memory_mib),
        capacity_permille=WHOLE_PERMILLE,
        icd=shown.icd,
        nodes=("dri",),
        note="no meter outside the guest for this card",
    )


def machine_hash() -> str:
    """A name for this machine that does not give its machine-id away (as machine-id(5) asks)."""
    identity = MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else os.uname().nodename
    return hashlib.sha256(f"vxpu:{identity}".encode()).hexdigest()[:24]


def _once(devices: list[Found]) -> list[Found]:
    """A card that two drivers show is one card: the first driver's."""
    first_icd = {(device.vendor, device.name): device.icd for device in reversed(devices)}
    return [device for device in devices if first_icd[(device.vendor, device.name)] == device.icd]


def _processor_name(shown: Found | None) -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return shown.name if shown else os.uname().machine
