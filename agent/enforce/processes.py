"""A slice without a control group: its processes found by their namespace or their shim, counted from /proc.

Weaker than a cgroup and said so (`limiter-advisory`): nothing caps CPU time or memory here, CPU time is in clock ticks,
and a program may hide by leaving its session where no process namespace holds it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from agent.enforce.cgroup import CgroupSample, signal_members, wait_until_empty
from agent.host import start_ticks

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The Cgroup protocol over /proc. `folder` holds `holder` (pid ticks), `shims/` and `spent` (ns of the dead)."""

    folder: Path

    def create(self) -> None:
        (self.folder / "shims").mkdir(parents=True, exist_ok=True)

    def exists(self) -> bool:
        return (self.folder / "shims").is_dir()

    def limit(self, *, weight_permille: int, cpu_permille: int, memory_bytes: int) -> bool:
        del weight_permille, cpu_permille, memory_bytes  # the library in the guest is all that limits here
        return True

    def freeze(self, *, frozen: bool) -> None:
        signal_members(self, signal.SIGSTOP if frozen else signal.SIGCONT)

    def processes(self) -> list[int]:
        return sorted(self._members())

    def contains(self, pid: int) -> bool:
        return pid in self._members()

    def sample(self) -> CgroupSample:
        cpu_ns = resident = 0
        for pid in self._members() | self._shims():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                own = pid not in self._shims()
                cpu_ns += sum(int(value) for value in fields[11 if own else 13 : 15]) * TICK_NS
                resident += int(fields[21]) * PAGE_BYTES if own else 0
        spent = self.folder / "spent"
        cpu_ns += sum(int(line) for line in spent.read_text().split()) if spent.exists() else 0
        return CgroupSample(cpu_ns=cpu_ns, throttled_ns=0, memory_bytes=resident, peak_bytes=None, oom_kills=0)

    def kill(self) -> None:
        for _ in range(20):
            signal_members(self, signal.SIGKILL)
            if wait_until_empty(self, seconds=0.1):
                return

    def remove(self) -> bool:
        if self.processes():
            return False
        for path in self._shim_files():
            path.unlink(missing_ok=True)
        return True

    def entrances(self) -> list[Path]:
        return []

    def _members(self) -> set[int]:
        holder = self._recorded(self.folder / "holder")
        if holder is not None:
            wanted = _namespace(holder)
            if not wanted:  # it ended just now, and the kernel ends its whole namespace with it
                return set()
            return {pid for pid in _pids() if _namespace(pid) == wanted}
        return _descendants(self._shims())

    def _shims(self) -> set[int]:
        return {pid for path in self._shim_files() if (pid := self._recorded(path)) is not None}

    def _shim_files(self) -> list[Path]:
        return list((self.folder / "shims").iterdir()) if self.exists() else []

    @staticmethod
    def _recorded(path: Path) -> int | None:
        """The pid in a ``pid ticks`` file, while it is still that process."""
        try:
            pid, ticks = (int(word) for word in path.read_text().split())
            return pid if start_ticks(pid) == ticks else None
        except (OSError, ValueError):
            return None


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _descendants(roots: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid in _pids():
        with contextlib.suppress(OSError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found
