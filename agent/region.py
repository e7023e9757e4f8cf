"""A slice's region on disk: the agent writes `limits`, the guest owns `usage` and `lock`.

The guest may do what it likes to its own two files, so they are never mapped here: they are opened without following
links, checked against what was made, and read with bounds. `limits` is root's, so it can be mapped and each field
stored as one 64-bit word.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from agent import shm
from vxpu.units import MIB

LIMITS_BYTES = ctypes.sizeof(shm.Limits)
USAGE_BYTES = ctypes.sizeof(shm.Usage)


class Damaged(RuntimeError):
    """The guest did something to its own files; the text says what."""


@dataclass(frozen=True, slots=True)
class RegionLimits:
    """What a slice may take. `compute_units` are the CPUs that make 1000 permille."""

    memory_mib: int
    share_permille: int
    compute_units: int
    fencing_token: int


@dataclass(frozen=True, slots=True)
class RegisteredSlot:
    """A live slot as the guest wrote it: a claim to compare with, never a process to act upon."""

    ns_pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class UsageHints:
    """Guest-written counters of device 0: hints for people, never for the bill."""

    used_bytes: int
    peak_bytes: int
    denied_count: int
    debited_ns: int
    launches: int
    waited_ns: int
    slots: tuple[RegisteredSlot, ...]


class Region:
    """One region folder. `uid` owns `usage` and `lock`; the folder and `limits` stay the agent's."""

    def __init__(self, folder: Path, *, uid: int) -> None:
        self.folder = folder
        self.uid = uid

    def create(self, limits: RegionLimits) -> None:
        """Make the three files, or keep those of a slice that already runs (guests have them mapped)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        if self._file_size("limits") != LIMITS_BYTES:
            self._make("limits", bytes(LIMITS_BYTES), mode=0o644, uid=os.geteuid())
        if self._file_size("usage") is None:
            header = shm.Usage(
                magic=shm.USAGE_MAGIC, version=shm.ABI_VERSION, file_bytes=USAGE_BYTES, slot_count=shm.MAX_SLOTS
            )
            self._make("usage", bytes(header), mode=0o600, uid=self.uid)
            self._make("lock", bytes(shm.LOCK_FILE_BYTES), mode=0o600, uid=self.uid)
        self.write(limits)

    def write(self, limits: RegionLimits) -> None:
        """Set the limits of device 0; a running guest sees each field whole, and `gen` last."""
        page = self._page()
        device = page.device[0]
        device.limit_bytes = device.soft_bytes = limits.memory_mib * MIB
        device.share_permille = device.weight = limits.share_permille
        device.compute_units = limits.compute_units
        device.gain_ppm = 1_000_000
        device.gen += 1
        page.version = shm.ABI_VERSION
        page.file_bytes = LIMITS_BYTES
        page.device_count = 1
        page.slot_count = shm.MAX_SLOTS
        page.fencing_token = limits.fencing_token
        page.flags = 0
        page.generation += 1
        page.magic = shm.LIMITS_MAGIC

    def pause(self, *, paused: bool) -> None:
        """Close or open the launch gate; memory stays."""
        page = self._page()
        page.device[0].pause = int(paused)
        page.device[0].gen += 1
        page.generation += 1

    def close(self) -> None:
        """The lease ended: no new memory, no new launches, for whoever still has the page mapped."""
        with contextlib.suppress(FileNotFoundError):
            page = self._page()
            page.flags |= shm.FLAG_CLOSED
            page.generation += 1

    def remove(self) -> None:
        for name in ("limits", "usage", "lock"):
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def read_hints(self) -> UsageHints:
        """The guest's own counters. Raises Damaged when the file is not what was made."""
        try:
            descriptor = os.open(self.folder / "usage", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Damaged(f"usage file: {error.strerror}") from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size != USAGE_BYTES or found.st_uid != self.uid:
                raise Damaged(f"usage file: size {found.st_size}, owner {found.st_uid}, mode {found.st_mode:o}")
            raw = os.pread(descriptor, USAGE_BYTES, 0)
        finally:
            os.close(descriptor)
        if len(raw) != USAGE_BYTES:
            raise Damaged("usage file: truncated while it was read")
        usage = shm.Usage.from_buffer_copy(raw)
        if usage.magic != shm.USAGE_MAGIC or usage.version != shm.ABI_VERSION:
            raise Damaged(f"usage file: magic {usage.magic:x}, version {usage.version}")
        return _hints(usage)

    def _file_size(self, name: str) -> int | None:
        try:
            return os.lstat(self.folder / name).st_size
        except FileNotFoundError:
            return None

    def _make(self, name: str, content: bytes, *, mode: int, uid: int) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as made:
            made.write(content)
            os.fchmod(made.fileno(), mode)
            if uid != os.geteuid():
                os.fchown(made.fileno(), uid, uid)

    def _page(self) -> shm.Limits:
        """`limits`, mapped: safe, for the guest cannot truncate it. The mapping goes with the last use of it."""
        with (self.folder / "limits").open("r+b") as opened:
            return shm.Limits.from_buffer(mmap.mmap(opened.fileno(), LIMITS_BYTES))


def _hints(usage: shm.Usage) -> UsageHints:
    live = [slot for slot in usage.slot if slot.state == shm.SLOT_LIVE]
    device = usage.device[0]
    return UsageHints(
        used_bytes=sum(slot.device[0].used_bytes for slot in live),
        peak_bytes=device.peak_bytes,
        denied_count=device.denied_count,
        debited_ns=device.debited_ns,
        launches=device.launches,
        waited_ns=device.waited_ns,
        slots=tuple(RegisteredSlot(slot.ns_pid, slot.start_ticks) for slot in live),
    )
