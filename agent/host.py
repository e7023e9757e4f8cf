"""What /proc says of the host and of a process, in nanoseconds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from vxpu.wire.node import HostReport

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class HostTime:
    """All processors together since boot. Idle counts waiting for disks: those processors were free to run."""

    idle_ns: int
    total_ns: int


def host_time() -> HostTime:
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return HostTime(idle_ns=(fields[3] + fields[4]) * TICK_NS, total_ns=sum(fields) * TICK_NS)


def host_report(reserve_permille: int) -> HostReport:
    """Processors and main memory, and what is left of them beside the host's reserve."""
    cores_milli = 1000 * (os.cpu_count() or 1)
    memory_mib = psutil.virtual_memory().total // 2**20
    return HostReport(
        cores_milli=cores_milli,
        memory_mib=memory_mib,
        sellable_cores_milli=cores_milli * (1000 - reserve_permille) // 1000,
        sellable_memory_mib=memory_mib * (1000 - reserve_permille) // 1000,
    )


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int:
    """Field 22 of /proc/<pid>/stat: with the pid it names one process for good. Raises FileNotFoundError."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@dataclass(frozen=True, slots=True)
class ProcessView:
    """One process as the host sees it; `ns_pid` as its own innermost namespace does."""

    pid: int
    ns_pid: int
    start_ticks: int
    cpu_ns: int
    command: str


def view_process(pid: int) -> ProcessView | None:
    """None when it ended meanwhile."""
    try:
        before, _, after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = after.split()
    spaces = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [str(pid)])
    return ProcessView(
        pid=pid,
        ns_pid=int(spaces[-1]),
        start_ticks=int(fields[19]),
        cpu_ns=(int(fields[11]) + int(fields[12])) * TICK_NS,
        command=before.partition("(")[2][:32],
    )


class WaitingTime:
    """How long the threads of a set of processes stood in line for a processor, summed since this object was made.

    From /proc/<pid>/task/<tid>/schedstat (second field); a thread that ended keeps what was seen of it.
    """

    def __init__(self) -> None:
        self.total_ns = 0
        self._seen: dict[int, int] = {}

    def update(self, pids: list[int]) -> int:
        now: dict[int, int] = {}
        for pid in pids:
            try:
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    now[int(thread.name)] = int((thread / "schedstat").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError, IndexError):
                continue
        self.total_ns += sum(max(0, waited - self._seen.get(thread, 0)) for thread, waited in now.items())
        self._seen = now
        return self.total_ns


def uids_in_use() -> set[int]:
    found = set()
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                found.add(path.stat().st_uid)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found
