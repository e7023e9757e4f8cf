"""Quotas are arithmetic; kill, freeze and counters are checked on this machine's own trees."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.enforce import cgroup_v1, cgroup_v2
from agent.enforce.cgroup import NoCgroups, cgroup_mounts, cpu_quota, memory_cap
from agent.enforce.port import SliceSpec
from tests.agent.bench import skip_unless_root, wait_for


@given(st.integers(1, 1000), st.integers(1, 256))
def test_a_quota_is_the_share_and_within_what_the_kernel_takes(share: int, units: int) -> None:
    quota, period = cpu_quota(share * units)
    assert quota >= 1000
    assert 10_000 <= period <= 1_000_000
    assert abs(quota * 1000 - share * units * period) <= max(1000, period)


@pytest.mark.parametrize(("share", "units", "expected"), [
    (250, 2, (5_000, 10_000)), (1000, 8, (80_000, 10_000)), (10, 2, (1_000, 50_000)), (1, 1, (1_000, 1_000_000)),
])  # fmt: skip
def test_quota_examples(share: int, units: int, expected: tuple[int, int]) -> None:
    assert cpu_quota(share * units) == expected


def test_a_shrink_below_use_stops_a_margin_above_it() -> None:
    mib = 1 << 20
    assert memory_cap(wanted=512 * mib, in_use=100 * mib) == 512 * mib
    assert memory_cap(wanted=100 * mib, in_use=200 * mib) == 216 * mib


def test_mountinfo_is_read_for_both_versions() -> None:
    text = (
        "30 23 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
        "32 23 0:28 / /tmp rw - tmpfs tmpfs rw\n"
    )
    assert [(str(mount.point), mount.kind) for mount in cgroup_mounts(text)] == [
        ("/sys/fs/cgroup/cpu,cpuacct", "cgroup"), ("/sys/fs/cgroup/unified", "cgroup2"),
    ]  # fmt: skip


@pytest.fixture
def v1() -> Iterator[cgroup_v1.GroupV1]:
    skip_unless_root()
    try:
        home = cgroup_v1.open_home(f"vxpu-test-{os.getpid()}")
    except NoCgroups as reason:
        pytest.skip(f"no cgroup v1: {reason}")
    group = home.slice("one")
    group.create()
    yield group
    group.kill()
    assert group.remove()
    home.close()


def test_v1_limits_are_what_the_kernel_shows(v1: cgroup_v1.GroupV1) -> None:
    assert v1.limit(weight_permille=250, cpu_permille=500, memory_bytes=64 << 20)
    cpu, memory = v1.folders["cpu"], v1.folders["memory"]
    assert (cpu / "cpu.cfs_quota_us").read_text() == "5000\n"
    assert (cpu / "cpu.cfs_period_us").read_text() == "10000\n"
    assert (memory / "memory.limit_in_bytes").read_text() == f"{64 << 20}\n"
    assert v1.limit(weight_permille=1, cpu_permille=1, memory_bytes=128 << 20)
    assert (cpu / "cpu.cfs_period_us").read_text() == "1000000\n"
    assert v1.limit(weight_permille=1, cpu_permille=0, memory_bytes=128 << 20)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "-1\n"


@pytest.fixture
def v2() -> Iterator[cgroup_v2.GroupV2]:
    """A group of the unified tree; without controllers on a hybrid machine, but with kill, freeze and CPU time."""
    skip_unless_root()
    point = next((mount.point for mount in cgroup_mounts() if mount.kind == "cgroup2"), None)
    if point is None:
        pytest.skip("no cgroup v2 is mounted here")
    home = point / f"vxpu-test-{os.getpid()}"
    group = cgroup_v2.GroupV2(home / "one")
    group.folder.mkdir(parents=True)
    yield group
    group.kill()
    assert group.remove()
    home.rmdir()


def test_v2_counts_freezes_and_kills(v2: cgroup_v2.GroupV2) -> None:
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    (v2.folder / "cgroup.procs").write_text(str(burner.pid))
    assert v2.contains(burner.pid)
    assert v2.processes() == [burner.pid]
    usage = v2.folder / "cpu.stat"
    wait_for(lambda: "usage_usec 0\n" not in usage.read_text(), what="CPU time is counted")
    v2.freeze(frozen=True)
    wait_for(lambda: "frozen 1" in (v2.folder / "cgroup.events").read_text(), what="it freezes")
    before = usage.read_text().splitlines()[0]
    time.sleep(0.3)
    assert usage.read_text().splitlines()[0] == before
    v2.kill()
    assert burner.wait(5) == -9


def test_v2_without_controllers_says_what_it_lacks() -> None:
    skip_unless_root()
    point = next((mount.point for mount in cgroup_mounts() if mount.kind == "cgroup2"), None)
    if point is None or "memory" in (point / "cgroup.controllers").read_text():
        pytest.skip("this machine's cgroup v2 has its controllers")
    with pytest.raises(NoCgroups, match="lacks cpu, memory, pids"):
        cgroup_v2.open_home("vxpu-test")


def test_v2_writes_what_the_kernel_documents(tmp_path: Path) -> None:
    for name in ("cpu.max", "cpu.weight", "memory.max", "memory.swap.max", "pids.max"):
        (tmp_path / name).write_text("max\n")
    (tmp_path / "memory.current").write_text("1048576\n")
    group = cgroup_v2.GroupV2(tmp_path)
    group.create()
    assert group.limit(weight_permille=250, cpu_permille=500, memory_bytes=64 << 20)
    written = {path.name: path.read_text().strip() for path in tmp_path.iterdir()}
    assert written == {
        "cpu.max": "5000 10000", "cpu.weight": "250", "memory.max": str(64 << 20), "memory.swap.max": "0",
        "pids.max": "4096", "memory.current": "1048576",
    }  # fmt: skip
    assert group.limit(weight_permille=250, cpu_permille=0, memory_bytes=64 << 20)
    assert (tmp_path / "cpu.max").read_text() == "max 10000"


def test_a_slice_of_a_card_has_no_quota_unless_the_operator_says_so() -> None:
    cores = SliceSpec("a", token=1, uid=61000, memory_mib=64, share_permille=250, compute_units=8)
    assert cores.cpu_quota_permille == 2000
    assert replace(cores, cpu_permille=0).cpu_quota_permille == 0
    assert replace(cores, cpu_permille=1500).cpu_quota_permille == 1500
