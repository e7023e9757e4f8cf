"""Control groups, version 2: one tree, killed by cgroup.kill."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from agent.enforce.cgroup import (
    PERIOD_US,
    PIDS_MAX,
    CgroupSample,
    NoCgroups,
    cgroup_mounts,
    cpu_quota,
    memory_cap,
    read_pids,
    read_table,
    remove_folder,
    signal_members,
    wait_until_empty,
)

CONTROLLERS = ("cpu", "memory", "pids")
MOST_WEIGHT = 10_000
# What was sold comes before what else runs here. Quotas bound it, so the host keeps its reserve.
HOME_WEIGHT = MOST_WEIGHT


@dataclass(frozen=True, slots=True)
class GroupV2:
    folder: Path

    def create(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._write("pids.max", PIDS_MAX)

    def exists(self) -> bool:
        return self.folder.is_dir()

    def limit(self, *, weight_permille: int, cpu_permille: int, memory_bytes: int) -> bool:
        quota, period = cpu_quota(cpu_permille) if cpu_permille else ("max", PERIOD_US)
        self._write("cpu.max", f"{quota} {period}")
        self._write("cpu.weight", min(MOST_WEIGHT, max(1, weight_permille)))
        cap = memory_cap(wanted=memory_bytes, in_use=self._read("memory.current"))
        self._write("memory.max", cap)
        with contextlib.suppress(FileNotFoundError):  # a kernel without swap accounting
            self._write("memory.swap.max", 0)
        return cap <= memory_bytes

    def freeze(self, *, frozen: bool) -> None:
        self._write("cgroup.freeze", int(frozen))

    def processes(self) -> list[int]:
        return read_pids(self.folder / "cgroup.procs")

    def contains(self, pid: int) -> bool:
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            return False
        ending = "/".join(self.folder.parts[-2:])
        return any(line.startswith("0::") and line.endswith(ending) for line in lines)

    def sample(self) -> CgroupSample:
        stat = read_table(self.folder / "cpu.stat")
        peak = self.folder / "memory.peak"
        return CgroupSample(
            cpu_ns=stat["usage_usec"] * 1000,
            throttled_ns=stat.get("throttled_usec", 0) * 1000,
            memory_bytes=self._read("memory.current"),
            peak_bytes=int(peak.read_text()) if peak.exists() else None,
            oom_kills=read_table(self.folder / "memory.events").get("oom_kill", 0),
        )

    def kill(self) -> None:
        try:
            self._write("cgroup.kill", 1)
        except FileNotFoundError:  # the group is gone, or a kernel before 5.14: freeze, kill, thaw
            if self.exists():
                self.freeze(frozen=True)
                signal_members(self, signal.SIGKILL)
                self.freeze(frozen=False)
        wait_until_empty(self, seconds=2.0)

    def remove(self) -> bool:
        return remove_folder(self.folder)

    def entrances(self) -> list[Path]:
        return [self.folder / "cgroup.procs"]

    def _read(self, name: str) -> int:
        return int((self.folder / name).read_text())

    def _write(self, name: str, value: int | str) -> None:
        if not self.folder.is_dir():
            raise FileNotFoundError(self.folder)
        (self.folder / name).write_text(str(value))


@dataclass(frozen=True, slots=True)
class HomeV2:
    folder: Path
    version: int = 2

    def slice(self, name: str) -> GroupV2:
        return GroupV2(self.folder / name)

    def names(self) -> list[str]:
        return sorted(child.name for child in self.folder.iterdir() if child.is_dir())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _own_folder(point: Path) -> Path:
    line = next((line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "0::/")
    return point / line.removeprefix("0::/")


def _delegate(base: Path) -> None:
    """Hand the controllers down. A group with processes of its own cannot, so the agent steps into a leaf."""
    missing = set(CONTROLLERS) - set((base / "cgroup.controllers").read_text().split())
    if missing:
        raise NoCgroups(f"cgroup v2 at {base} lacks {', '.join(sorted(missing))}")
    if str(os.getpid()) in (base / "cgroup.procs").read_text().split() and (base / "cgroup.type").exists():
        leaf = base / "agent"
        leaf.mkdir(exist_ok=True)
        for pid in (base / "cgroup.procs").read_text().split():
            (leaf / "cgroup.procs").write_text(pid)
    (base / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in CONTROLLERS))


def open_home(name: str) -> HomeV2:
    """The corner `name` below the agent's own group (Delegate=yes), or below the root. Raises NoCgroups."""
    point = next((mount.point for mount in cgroup_mounts() if mount.kind == "cgroup2"), None)
    if point is None:
        raise NoCgroups("no cgroup v2")
    base = _own_folder(point)
    if base.name == "agent":  # an earlier run of this agent stepped into its leaf
        base = base.parent
    try:
        _delegate(base)
        home = base / name
        home.mkdir(exist_ok=True)
        (home / "cpu.weight").write_text(str(HOME_WEIGHT))
        (home / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in CONTROLLERS))
    except OSError as error:
        raise NoCgroups(f"cgroup v2 at {base} is not writable ({error.strerror})") from error
    return HomeV2(home)
