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
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from agent import shm
from agent.gain import WHOLE_PPM
from vxpu.units import MIB

LIMITS_BYTES = ctypes.sizeof(shm.Limits)
USAGE_BYTES = ctypes.sizeof(shm.Usage)


class Damaged(RuntimeError):
    """The guest did something to its own files; the text says what."""


@dataclass(frozen=True, slots=True)
class CardLimits:
    """What a slice of a card has beyond memory and share; 0 is no limit, `spill_mib` 0 no spill at all.

    `context_mib` is reserved by each process at its first context; `spill_mib` is managed memory beyond the guaranteed
    part. Weight and priority are of the idle time that may be lent. `strict_symbols`: variants of driver calls that the
    library does not know are withheld, not only counted.
    """

    uuid: UUID
    physical_mib: int = 0
    context_mib: int = 0
    spill_mib: int = 0
    host_mib: int = 0
    copy_mib_s: int = 0
    priority: int = 0
    strict_symbols: bool = False


@dataclass(frozen=True, slots=True)
class RegionLimits:
    """What a slice may take. `compute_units` are the CPUs that make 1000 permille (1 on a card).

    `inert`: the whole device was bought; the library counts and holds back nothing.
    """

    memory_mib: int
    share_permille: int
    compute_units: int
    fencing_token: int
    card: CardLimits | None = None
    inert: bool = False


@dataclass(frozen=True, slots=True)
class RegisteredSlot:
    """A live slot as the guest wrote it: a claim to compare with, never a process to act upon."""

    ns_pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class GateHints:
    """Guest-written counters of the gate of device 0. `budget_ns` was true at `refilled_ns` (CLOCK_MONOTONIC)."""

    budget_ns: int
    refilled_ns: int
    debited_ns: int
    measured_ns: int
    launches: int
    waits: int
    waited_ns: int


@dataclass(frozen=True, slots=True)
class UsageHints:
    """Guest-written counters of device 0: hints for people, never for the bill."""

    used_bytes: int
    context_bytes: int
    host_bytes: int
    spill_bytes: int
    peak_bytes: int
    denied_count: int
    copied_bytes: int
    longest_wait_ns: int
    unknown_symbols: int
    gate: GateHints
    slots: tuple[RegisteredSlot, ...]

    @property
    def waited_ns(self) -> int:
        return self.gate.waited_ns


@dataclass(frozen=True, slots=True)
class Published:
    """What the agent has put into a card's limits."""

    gain_ppm: int
    overhead_bytes: int
    agent_debit_ns: int
    lend_permille: int


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
        device.soft_bytes = limits.memory_mib * MIB
        device.limit_bytes = (limits.memory_mib + (limits.card.spill_mib if limits.card else 0)) * MIB
        device.share_permille = device.weight = limits.share_permille
        device.compute_units = limits.compute_units
        device.gain_ppm = device.gain_ppm or WHOLE_PPM  # what was learnt of a running guest stays
        if limits.card is not None:
            _write_card(device, limits.card)
        device.gen += 1
        page.version = shm.ABI_VERSION
        page.file_bytes = LIMITS_BYTES
        page.device_count = 1
        page.slot_count = shm.MAX_SLOTS
        page.fencing_token = limits.fencing_token
        page.flags = shm.FLAG_INERT if limits.inert else 0
        if limits.card is not None and limits.card.strict_symbols:
            page.flags |= shm.FLAG_STRICT_SYMBOLS
        page.generation += 1
        page.magic = shm.LIMITS_MAGIC

    def publish(self, *, gain_ppm: int, overhead_bytes: int, agent_debit_ns: int) -> None:
        """What the agent's own meters say of a card; the debit is a running total that never falls."""
        page = self._page()
        device = page.device[0]
        device.gain_ppm = gain_ppm
        device.overhead_bytes = overhead_bytes
        device.agent_debit_ns = max(device.agent_debit_ns, agent_debit_ns)
        device.gen += 1
        page.generation += 1

    def lend(self, permille: int, *, until_ns: int) -> None:
        """Idle time on top of the share until then, by CLOCK_MONOTONIC."""
        page = self._page()
        device = page.device[0]
        device.lend_permille = permille  # then the end: a reader between the two has the new amount until the old end
        device.lend_until_ns = until_ns
        device.gen += 1
        page.generation += 1

    def hold(self, *, from_ns: int, until_ns: int) -> None:
        """The launch gate is closed from then until then, by CLOCK_MONOTONIC, whether or not the agent lives."""
        page = self._page()
        device = page.device[0]
        device.hold_from_ns = from_ns  # in this order: old and new end never make one long hold
        device.hold_until_ns = until_ns
        device.gen += 1
        page.generation += 1

    def read_published(self) -> Published:
        """What stands in the page: a new agent goes on from there."""
        device = self._page().device[0]
        return Published(device.gain_ppm, device.overhead_bytes, device.agent_debit_ns, device.lend_permille)

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
        return _hints(shm.Usage.from_buffer_copy(self._read_usage(USAGE_BYTES)))

    def read_gate(self) -> GateHints:
        """Only the counters of the gate: for whoever looks many times a second. Raises Damaged."""
        head = self._read_usage(shm.Usage.slot.offset)
        return _gate(shm.UsageDevice.from_buffer_copy(head, shm.Usage.device.offset))

    def _read_usage(self, length: int) -> bytes:
        try:
            descriptor = os.open(self.folder / "usage", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Damaged(f"usage file: {error.strerror}") from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size != USAGE_BYTES or found.st_uid != self.uid:
                raise Damaged(f"usage file: size {found.st_size}, owner {found.st_uid}, mode {found.st_mode:o}")
            raw = os.pread(descriptor, length, 0)
        finally:
            os.close(descriptor)
        if len(raw) != length:
            raise Damaged("usage file: truncated while it was read")
        magic, version = (int.from_bytes(raw[at : at + 8], sys.byteorder) for at in (0, 8))
        if magic != shm.USAGE_MAGIC or version != shm.ABI_VERSION:
            raise Damaged(f"usage file: magic {magic:x}, version {version}")
        return raw

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


def _write_card(device: shm.LimitsDevice, card: CardLimits) -> None:
    device.kind = shm.DEVICE_CARD
    device.uuid_high, device.uuid_low = card.uuid.int >> 64, card.uuid.int & (1 << 64) - 1
    device.physical_bytes = card.physical_mib * MIB
    device.ctx_bytes = card.context_mib * MIB
    device.host_limit_bytes = card.host_mib * MIB
    device.copy_bytes_per_second = card.copy_mib_s * MIB
    device.priority = card.priority


def _gate(device: shm.UsageDevice) -> GateHints:
    return GateHints(
        budget_ns=device.budget_ns,
        refilled_ns=device.last_refill_ns,
        debited_ns=device.debited_ns,
        measured_ns=device.measured_ns,
        launches=device.launches,
        waits=device.waits,
        waited_ns=device.waited_ns,
    )


def _hints(usage: shm.Usage) -> UsageHints:
    live = [slot for slot in usage.slot if slot.state == shm.SLOT_LIVE]
    device = usage.device[0]
    return UsageHints(
        used_bytes=sum(slot.device[0].used_bytes for slot in live),
        context_bytes=sum(slot.device[0].ctx_bytes for slot in live),
        host_bytes=sum(slot.device[0].host_bytes for slot in live),
        spill_bytes=sum(slot.device[0].spill_bytes for slot in live),
        peak_bytes=device.peak_bytes,
        denied_count=device.denied_count,
        copied_bytes=device.copied_bytes,
        longest_wait_ns=device.longest_wait_ns,
        unknown_symbols=usage.unknown_symbols,
        gate=_gate(device),
        slots=tuple(RegisteredSlot(slot.ns_pid, slot.start_ticks) for slot in live),
    )


def card_uuid(text: str) -> UUID:
    """The 16 bytes of "GPU-<uuid>" or "MIG-<uuid>", big endian as the driver gives them. Raises ValueError."""
    return UUID(text.removeprefix("GPU-").removeprefix("MIG-"))
