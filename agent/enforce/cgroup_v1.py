"""Control groups, version 1 (and hybrid machines): one tree a controller, killed by freeze, kill, thaw."""

from __future__ import annotations

import contextlib
import errno
import signal
import time
from dataclasses import dataclass, field
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

CONTROLLERS = ("cpu", "cpuacct", "memory", "freezer", "pids")
# The most there is: what was sold comes before what else runs here. Quotas bound it, so the host keeps its reserve.
HOME_SHARES = 262_144
KILL_ROUNDS = 20
ROUND_S = 0.1


@dataclass(frozen=True, slots=True)
class GroupV1:
    name: str
    folders: dict[str, Path] = field(hash=False)

    def create(self) -> None:
        for folder in set(self.folders.values()):
            folder.mkdir(exist_ok=True)
        self._write("pids", "pids.max", PIDS_MAX)

    def exists(self) -> bool:
        return all(folder.is_dir() for folder in self.folders.values())

    def limit(self, *, weight_permille: int, cpu_permille: int, memory_bytes: int) -> bool:
        quota, period = cpu_quota(cpu_permille) if cpu_permille else (-1, PERIOD_US)
        # The kernel refuses a quota below 1 ms of the period that stands, so the quota is lifted first.
        self._write("cpu", "cpu.cfs_quota_us", -1)
        self._write("cpu", "cpu.cfs_period_us", period)
        self._write("cpu", "cpu.cfs_quota_us", quota)
        self._write("cpu", "cpu.shares", max(2, weight_permille * 10))
        return self._limit_memory(memory_bytes)

    def _limit_memory(self, wanted: int) -> bool:
        cap = memory_cap(wanted=wanted, in_use=self._read("memory", "memory.usage_in_bytes"))
        names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]  # the second may never be below the first
        if cap > self._read("memory", names[0]):
            names.reverse()
        for name in names:
            try:
                self._write("memory", name, cap)
            except OSError as error:
                # No swap accounting: nothing to cap. Busy: use rose meanwhile, the next call tries again.
                if error.errno == errno.EBUSY:
                    return False
                if not name.startswith("memory.memsw"):
                    raise
        return cap <= wanted

    def freeze(self, *, frozen: bool) -> None:
        self._write("freezer", "freezer.state", "FROZEN" if frozen else "THAWED")

    def processes(self) -> list[int]:
        return read_pids(self.folders["freezer"] / "cgroup.procs")

    def contains(self, pid: int) -> bool:
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            return False
        ending = "/".join(self.folders["freezer"].parts[-2:])
        return any(":freezer:" in line and line.endswith(ending) for line in lines)

    def sample(self) -> CgroupSample:
        return CgroupSample(
            cpu_ns=self._read("cpuacct", "cpuacct.usage"),
            throttled_ns=read_table(self.folders["cpu"] / "cpu.stat").get("throttled_time", 0),
            memory_bytes=self._read("memory", "memory.usage_in_bytes"),
            peak_bytes=self._read("memory", "memory.max_usage_in_bytes"),
            oom_kills=read_table(self.folders["memory"] / "memory.oom_control").get("oom_kill", 0),
        )

    def kill(self) -> None:
        """Freeze so that nothing can fork away, mark all for death, thaw; again until nobody is left."""
        for _ in range(KILL_ROUNDS):
            with contextlib.suppress(FileNotFoundError):
                self.freeze(frozen=True)
                self._await_frozen()
                signal_members(self, signal.SIGKILL)
                self.freeze(frozen=False)
            if wait_until_empty(self, seconds=ROUND_S):
                return

    def _await_frozen(self) -> None:
        deadline = time.monotonic() + ROUND_S
        state = self.folders["freezer"] / "freezer.state"
        while state.read_text().strip() != "FROZEN" and time.monotonic() < deadline:
            time.sleep(0.002)

    def remove(self) -> bool:
        removed = [remove_folder(folder) for folder in set(self.folders.values())]
        return all(removed)

    def entrances(self) -> list[Path]:
        return sorted({folder / "cgroup.procs" for folder in self.folders.values()})

    def _read(self, controller: str, name: str) -> int:
        return int((self.folders[controller] / name).read_text())

    def _write(self, controller: str, name: str, value: int | str) -> None:
        (self.folders[controller] / name).write_text(str(value))


@dataclass(frozen=True, slots=True)
class HomeV1:
    folders: dict[str, Path] = field(hash=False)
    version: int = 1

    def slice(self, name: str) -> GroupV1:
        return GroupV1(name, {controller: folder / name for controller, folder in self.folders.items()})

    def names(self) -> list[str]:
        return sorted({child.name for folder in self.folders.values() for child in folder.iterdir() if child.is_dir()})

    def close(self) -> None:
        for folder in set(self.folders.values()):
            with contextlib.suppress(OSError):
                folder.rmdir()


def open_home(name: str) -> HomeV1:
    """The corner `name` in each of the five controllers. Raises NoCgroups."""
    mounts = [mount for mount in cgroup_mounts() if mount.kind == "cgroup"]
    folders: dict[str, Path] = {}
    for controller in CONTROLLERS:
        point = next((mount.point for mount in mounts if controller in mount.options), None)
        if point is None:
            raise NoCgroups(f"no cgroup v1 controller {controller!r}")
        folders[controller] = point / name
    for folder in set(folders.values()):
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise NoCgroups(f"cgroup v1 at {folder.parent} is not writable ({error.strerror})") from error
    (folders["cpu"] / "cpu.shares").write_text(str(HOME_SHARES))
    return HomeV1(folders)
