"""Live samples of slices and devices: two readings of the counters make one. Pure but for what it is handed.

Only for people who look; what is billed comes from the meter. All of it is read outside the guest but for the waiting
time of launches, which the guest's own library writes: it can make its own throttling look greater, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.devices.port import measured
from agent.gauge import Counters
from agent.host import HostTime
from agent.state import SliceRecord
from vxpu.states import Quality
from vxpu.units import MIB
from vxpu.wire.node import DeviceSample, LeaseSample, Reading

SECOND_NS = 1_000_000_000
WHOLE = 1000
# A reading before was too long ago to say anything about now.
LONGEST_NS = 10 * SECOND_NS


@dataclass(frozen=True, slots=True)
class SliceCounters:
    """One slice at one instant. `waited_ns` None: the guest's file cannot be read."""

    mono_ns: int
    taken: Counters
    waited_ns: int | None
    processes: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Of the whole device, over one interval."""

    compute_permille: int
    throttled_permille: int
    throttled_is_guests_word: bool


def rates(before: SliceCounters | None, after: SliceCounters, *, compute_units: int) -> Rates | None:
    """None without an interval to speak of, or when a counter fell: the group was made anew.

    What was used and what was held back are both parts of the device, so together they are at most the whole. The
    kernel counts held-back time for each processor; a launch that waits for its turn holds the whole slice back.
    """
    if before is None:
        return None
    length_ns = after.mono_ns - before.mono_ns
    used_ns = after.taken.compute_ns - before.taken.compute_ns
    held_ns = after.taken.throttled_ns - before.taken.throttled_ns
    if not 0 < length_ns <= LONGEST_NS or used_ns < 0 or held_ns < 0:
        return None
    whole_ns = length_ns * compute_units
    compute = min(WHOLE, used_ns * WHOLE // whole_ns)
    fenced = held_ns * WHOLE // whole_ns
    paced = _waited(before, after) * WHOLE // length_ns
    return Rates(
        compute_permille=compute,
        throttled_permille=min(WHOLE - compute, max(fenced, paced)),
        throttled_is_guests_word=paced > fenced,
    )


def _waited(before: SliceCounters, after: SliceCounters) -> int:
    if before.waited_ns is None or after.waited_ns is None:
        return 0
    return max(0, after.waited_ns - before.waited_ns)


def lease_sample(
    record: SliceRecord, before: SliceCounters | None, after: SliceCounters, *, at: datetime
) -> LeaseSample:
    """What a slice does now. Power of a slice is not known on any device that we share."""
    found = rates(before, after, compute_units=record.compute_units)
    return LeaseSample(
        lease_id=record.lease_id,
        at=at,
        memory_mib=measured(-(-after.taken.memory_bytes // MIB), at=at),
        memory_limit_mib=record.memory_mib,
        compute_permille=measured(found.compute_permille if found else None, at=at),
        compute_limit_permille=record.share_permille,
        throttled_permille=_throttled(found, at),
        power_mw=measured(None, at=at),
        processes=after.processes,
    )


def _throttled(found: Rates | None, at: datetime) -> Reading:
    if found is None:
        return measured(None, at=at)
    quality = Quality.ESTIMATED if found.throttled_is_guests_word else Quality.MEASURED
    return Reading(value=found.throttled_permille, at=at, quality=quality)


def host_permille(before: HostTime | None, after: HostTime) -> int | None:
    """How much of all processors was busy."""
    if before is None or after.total_ns <= before.total_ns:
        return None
    idle_ns = min(max(0, after.idle_ns - before.idle_ns), after.total_ns - before.total_ns)
    return WHOLE - idle_ns * WHOLE // (after.total_ns - before.total_ns)


def device_sample(key: str, busy_permille: int | None, used: Iterable[Reading], *, at: datetime) -> DeviceSample:
    """`used` are the compute readings of all slices on the device: what is busy beyond them is nobody's."""
    values = [reading.value for reading in used]
    known = [value for value in values if value is not None]
    rest = None if busy_permille is None or len(known) < len(values) else max(0, busy_permille - sum(known))
    return DeviceSample(
        device_key=key,
        at=at,
        compute_permille=measured(busy_permille, at=at),
        unattributed_permille=measured(rest, at=at),
    )


def moment(now_ns: int) -> datetime:
    """Server time, to the millisecond."""
    return datetime.fromtimestamp(now_ns // 1_000_000 / 1000, UTC)
