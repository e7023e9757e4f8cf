"""What a slice needs of a control group, whichever version of the interface the machine has.

Sources: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/*.rst of the Linux kernel.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.host import start_ticks

PERIOD_US = 10_000
LONGEST_PERIOD_US = 1_000_000
SMALLEST_QUOTA_US = 1_000
SHRINK_MARGIN_BYTES = 16 * 1024 * 1024
PIDS_MAX = 4096


class NoCgroups(RuntimeError):
    """The machine has no control groups that we may write; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class CgroupSample:
    """Counters since the group was made. `peak_bytes` None: the kernel does not say."""

    cpu_ns: int
    throttled_ns: int
    memory_bytes: int
    peak_bytes: int | None
    oom_kills: int


class Cgroup(Protocol):
    """One slice's group. Every method may raise OSError; `create`, `kill` and `remove` may be repeated."""

    def create(self) -> None: ...

    def exists(self) -> bool: ...

    def limit(self, *, weight_permille: int, cpu_permille: int, memory_bytes: int) -> bool:
        """Apply the limits; False when memory in use kept the cap above `memory_bytes` (ask again later).

        `cpu_permille` of one processor is the quota; 0: none, the weight alone decides who waits.
        """

    def freeze(self, *, frozen: bool) -> None: ...

    def processes(self) -> list[int]: ...

    def contains(self, pid: int) -> bool: ...

    def sample(self) -> CgroupSample: ...

    def kill(self) -> None: ...

    def remove(self) -> bool: ...

    def entrances(self) -> list[Path]:
        """The files into which a process writes "0" to join."""


class CgroupHome(Protocol):
    """The agent's own corner of the tree."""

    version: int

    def slice(self, name: str) -> Cgroup: ...

    def names(self) -> list[str]: ...

    def close(self) -> None:
        """Remove the corner itself if no slice is left in it."""


def cpu_quota(cpu_permille: int) -> tuple[int, int]:
    """(quota, period) in microseconds for so many permille of one processor, at least 1.

    10 ms periods stall a program least; the kernel's smallest quota is 1 ms, so small shares take a longer period.
    """
    period = min(LONGEST_PERIOD_US, max(PERIOD_US, -(-SMALLEST_QUOTA_US * 1000 // cpu_permille)))
    return max(SMALLEST_QUOTA_US, cpu_permille * period // 1000), period


def memory_cap(*, wanted: int, in_use: int) -> int:
    """The cap to write now: a shrink below what is in use must not kill, so it stops a margin above."""
    return wanted if in_use + SHRINK_MARGIN_BYTES <= wanted else max(wanted, in_use + SHRINK_MARGIN_BYTES)


def read_table(path: Path) -> dict[str, int]:
    """A file of ``key value`` lines."""
    return {key: int(value) for key, value in (line.split() for line in path.read_text().splitlines() if line)}


def read_pids(path: Path) -> list[int]:
    try:
        return [int(line) for line in path.read_text().split()]
    except FileNotFoundError:
        return []


def signal_members(group: Cgroup, number: signal.Signals) -> None:
    """Signal every process of the group through a pidfd, after a second look that it still belongs to it.

    A pid from cgroup.procs may be another's by the time it is signalled; a pidfd cannot change hands.
    """
    for pid in group.processes():
        signal_member(group, pid, number)


def signal_member(group: Cgroup, pid: int, number: signal.Signals, *, started: int | None = None) -> bool:
    """The same for one process; False when it is gone, no longer of the group, or not the one that started then."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        descriptor = os.pidfd_open(pid)
        try:
            is_it = started is None or start_ticks(pid) == started
            if is_it and group.contains(pid):
                signal.pidfd_send_signal(descriptor, number)
                return True
        finally:
            os.close(descriptor)
    return False


def wait_until_empty(group: Cgroup, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while group.processes():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True


def remove_folder(path: Path) -> bool:
    """rmdir of a cgroup folder (and what a guest may have made below it); False while it is busy."""
    try:
        children = [child for child in path.iterdir() if child.is_dir()]
        removed = [remove_folder(child) for child in children]  # each is tried, not only up to the first busy one
        if not all(removed):
            return False
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def find_home(name: str) -> CgroupHome:
    """The corner `name` of whatever this machine offers. Raises NoCgroups with the reason."""
    from agent.enforce import cgroup_v1, cgroup_v2

    reasons: list[str] = []
    for module in (cgroup_v1, cgroup_v2):
        try:
            home: CgroupHome = module.open_home(name)
        except NoCgroups as error:
            reasons.append(str(error))
        else:
            return home
    raise NoCgroups("; ".join(reasons))


@dataclass(frozen=True, slots=True)
class Mount:
    point: Path
    kind: str
    options: frozenset[str]


def cgroup_mounts(text: str | None = None) -> list[Mount]:
    """The cgroup file systems of /proc/self/mountinfo (see proc_pid_mountinfo(5))."""
    found = []
    for line in (text if text is not None else Path("/proc/self/mountinfo").read_text()).splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            found.append(Mount(Path(before.split()[4]), kind, frozenset(options.split(","))))
    return found
