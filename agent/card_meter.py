"""Device time and memory of the slices of one card, from what its driver says of each process. Nothing of the guest's.

The driver tells a process's busy share for sample periods of about 1/6 s; a period's time is that share of it. A pid is
known to be a slice's because the slice's control group listed it while it lived: the last sample of a process comes
after its death. A process that lived and died between two looks at the group is nobody's; it shows in `unclaimed_ns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.gauge import Counters

LONGEST_QUESTION_US = 1_000_000
LONGEST_ANSWER_US = 2_000_000
# How long a dead process is remembered for the sample that is still to come.
REMEMBERED_NS = 5_000_000_000


class ProcessSample(Protocol):
    """How busy one process kept the card in the driver's sample period that ended at `at_us`."""

    @property
    def pid(self) -> int: ...

    @property
    def at_us(self) -> int: ...

    @property
    def sm_permille(self) -> int: ...


@dataclass(slots=True)
class SliceMeter:
    """One slice's totals. `gap_ns` is what its own events measured beyond what the card did for it: time in line."""

    busy_ns: int = 0
    memory_bytes: int = 0
    peak_bytes: int = 0
    gap_ns: int = 0
    idle_ns: int = 0
    whole_ns: int = 0
    pids: frozenset[int] = frozenset()
    memory_of: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class CardMeter:
    """One card. `fold` takes what the driver sampled, several times a period; `look` closes an interval.

    A driver tells the mean of a process over the periods since the last question, stamped with the last one in which
    it was busy: so the questions come more often than the periods, and none is asked about more than a second.
    """

    slices: dict[str, SliceMeter] = field(default_factory=dict)
    since_us: int = 0
    mono_ns: int = 0
    busy_ns: int = 0
    unclaimed_ns: int = 0
    unclaimed_bytes: int = 0
    _had: dict[str, int] = field(default_factory=dict)
    _seen_ns: int = 0
    _is_told: bool = False
    _owner: dict[int, tuple[str, int]] = field(default_factory=dict)

    def begin(self, lease_id: str, *, busy_ns: int = 0) -> None:
        """`busy_ns` is the total that an agent before this one came to."""
        self.slices.setdefault(lease_id, SliceMeter(busy_ns=busy_ns))

    def forget(self, lease_id: str) -> None:
        self.slices.pop(lease_id, None)
        self._had.pop(lease_id, None)
        self._owner = {pid: known for pid, known in self._owner.items() if known[0] != lease_id}

    def claim(self, members: Mapping[str, Iterable[int]], *, mono_ns: int) -> None:
        """Whose the processes are that live now, from the slices' control groups."""
        for lease_id, pids in members.items():
            for pid in pids:
                self._owner[pid] = (lease_id, mono_ns)
        self._owner = {pid: one for pid, one in self._owner.items() if mono_ns - one[1] <= REMEMBERED_NS}

    def question(self, *, wall_us: int) -> int:
        """Since when to ask, in the driver's microseconds (of the epoch).

        The driver stamps its samples with the wall clock: one that was set back by more than a question's length would
        else hide all samples until it has caught up, and their time would be nobody's.
        """
        if self.since_us > wall_us + LONGEST_QUESTION_US:
            self.since_us = wall_us
        self.since_us = max(self.since_us, wall_us - LONGEST_QUESTION_US)
        return self.since_us

    def fold(self, samples: Iterable[ProcessSample] | None, *, since_us: int) -> None:
        """What the driver said of the time since then. None: it does not sample processes."""
        if samples is None:
            return
        self._is_told = True
        seen_us: dict[int, int] = {}
        for sample in samples:
            covered_us = max(0, sample.at_us - max(since_us, seen_us.get(sample.pid, 0)))
            seen_us[sample.pid] = sample.at_us
            spent_ns = min(covered_us, LONGEST_ANSWER_US) * max(0, min(1000, sample.sm_permille))
            lease_id = self._owner.get(sample.pid, ("", 0))[0]
            if lease_id in self.slices:
                self._had[lease_id] = self._had.get(lease_id, 0) + spent_ns
                self.slices[lease_id].busy_ns += spent_ns
            else:
                self.unclaimed_ns += spent_ns
            self._seen_ns += spent_ns
        self.since_us = max([self.since_us, *seen_us.values()])

    def look(self, memory: Mapping[int, int | None] | None, *, mono_ns: int) -> dict[str, int]:
        """Close an interval; answers the device time that each slice had in it."""
        length_ns = max(0, mono_ns - self.mono_ns) if self.mono_ns else 0
        self.mono_ns = mono_ns
        had, seen_ns = {lease_id: self._had.get(lease_id, 0) for lease_id in self.slices}, self._seen_ns
        self.busy_ns += seen_ns
        if self._is_told:
            for one in self.slices.values():
                one.whole_ns += length_ns
                one.idle_ns += max(0, length_ns - seen_ns)
        self._had, self._seen_ns, self._is_told = {}, 0, False
        if memory is not None:
            self._count_memory(memory)
        return had

    def _count_memory(self, memory: Mapping[int, int | None]) -> None:
        for lease_id, one in self.slices.items():
            own = {pid: size or 0 for pid, size in memory.items() if self._owner.get(pid, ("", 0))[0] == lease_id}
            one.pids, one.memory_of = frozenset(own), own
            one.memory_bytes = sum(own.values())
            one.peak_bytes = max(one.peak_bytes, one.memory_bytes)
        owned = sum(one.memory_bytes for one in self.slices.values())
        self.unclaimed_bytes = max(0, sum(size or 0 for size in memory.values()) - owned)

    def counters(self, lease_id: str) -> Counters | None:
        one = self.slices.get(lease_id)
        if one is None:
            return None
        return Counters(
            compute_ns=one.busy_ns,
            waiting_ns=one.gap_ns,
            idle_ns=one.idle_ns,
            whole_ns=one.whole_ns,
            memory_bytes=one.memory_bytes,
            peak_bytes=one.peak_bytes,
        )
