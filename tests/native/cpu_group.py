"""A CPU cgroup, v1 or v2: the kernel's fence and the meter outside the guest, as the agent uses them."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 10_000  # with 100 ms a slice of 25 % stalls for 75 ms at a time


class CpuGroup:
    """`quota_permille` of `units` CPUs, or no quota; ahead of all else that runs; the CPU time used inside."""

    def __init__(self, name: str, *, quota_permille: int | None = None, units: int = 2) -> None:
        self._v2 = (ROOT / "cgroup.controllers").exists()
        roots = [ROOT] if self._v2 else [ROOT / "cpu", ROOT / "cpuacct"]
        self._paths = [root / f"vxpu-test-{os.getpid()}-{name}" for root in roots]
        self._quota_us = PERIOD_US * units * quota_permille // 1000 if quota_permille else None

    def __enter__(self) -> Self:
        for path in self._paths:
            path.mkdir()
        weight, most = ("cpu.weight", "10000") if self._v2 else ("cpu.shares", "262144")
        (self._paths[0] / weight).write_text(most)
        if self._quota_us and self._v2:
            (self._paths[0] / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
        elif self._quota_us:
            (self._paths[0] / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self._paths[0] / "cpu.cfs_quota_us").write_text(str(self._quota_us))
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for path in self._paths:
            for _ in range(100):
                if not (path / "cgroup.procs").read_text().strip():
                    break
                time.sleep(0.02)
            path.rmdir()

    def wrap(self, command: list[str]) -> list[str]:
        """The command, started inside the group."""
        joins = " && ".join(f"echo $$ > {path}/cgroup.procs" for path in self._paths)
        return ["/bin/sh", "-c", f'{joins} && exec "$@"', "sh", *command]

    def cpu_ns(self) -> int:
        if self._v2:
            stat = (self._paths[0] / "cpu.stat").read_text().split()
            return int(stat[stat.index("usage_usec") + 1]) * 1000
        return int((self._paths[1] / "cpuacct.usage").read_text())


def machine_busy_ns() -> int:
    """CPU time of the whole machine, from /proc/stat: all but idle and iowait."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
