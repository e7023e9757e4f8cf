"""MPS through the control daemon of the fake driver: one a card, ceilings set at it, started again when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.devices.port import Device
from agent.enforce.modes.mps import PIPES_IN_SLICE, Mps
from agent.enforce.modes.port import CannotShare, CardLease, Mount, Operator
from tests.agent.bench import wait_for
from tests.agent.cards import FAKE, build_fake
from vxpu.states import DeviceKind, Isolation
from vxpu.wire.node import CardReport, MigState

CARD = Device(
    key="nvidia:GPU-1", kind=DeviceKind.NVIDIA, model="Simulated GPU 24GB", vendor="NVIDIA (simulated)",
    compute_units=132, memory_mib=24576, capacity_mib=24576, capacity_permille=1000, nodes=("vxpu-fake0",),
    simulated=True, card=CardReport(uuid="GPU-1"),
)  # fmt: skip
QUARTER = CardLease("lse_a", memory_mib=6144, share_permille=250, uid=61001)
HALF = CardLease("lse_b", memory_mib=4096, share_permille=500, uid=61002)


@pytest.fixture
def mps(tmp_path: Path) -> Iterator[Mps]:
    build_fake()
    mode = Mps(tmp_path, program=str(FAKE / "nvidia-cuda-mps-control"))
    yield mode
    Mps(tmp_path, program=str(FAKE / "nvidia-cuda-mps-control")).forget_others(set())  # whatever still runs


def ask(tmp_path: Path, command: str) -> str:
    environment = {"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path / "mps" / CARD.uuid / "pipe")}
    done = subprocess.run([FAKE / "nvidia-cuda-mps-control"], input=command + "\n", env=environment,
                          capture_output=True, text=True, check=True, timeout=10)  # fmt: skip
    return done.stdout.strip()


def test_a_slice_is_told_its_part_and_the_daemon_the_largest(mps: Mps, tmp_path: Path) -> None:
    grant = mps.prepare(QUARTER, CARD)
    assert grant.environment == {
        "CUDA_MPS_PIPE_DIRECTORY": PIPES_IN_SLICE, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25.0",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=6144M",
    }  # fmt: skip
    assert grant.mounts == (Mount(str(tmp_path / "mps/GPU-1/pipe"), PIPES_IN_SLICE, read_only=False),)
    assert (grant.isolation, grant.share_permille, grant.inert) == (Isolation.MPS, 250, False)
    mps.prepare(HALF, CARD)
    assert ask(tmp_path, "get_default_active_thread_percentage") == "50.0"
    assert ask(tmp_path, "get_default_device_pinned_mem_limit 0") == "6G"


def test_servers_that_run_are_told_at_a_resize(mps: Mps, tmp_path: Path) -> None:
    mps.prepare(QUARTER, CARD)
    ask(tmp_path, "start_server -uid 0")
    server = wait_for(lambda: ask(tmp_path, "get_server_list"))
    grown = mps.resize(CardLease("lse_a", memory_mib=8192, share_permille=400), CARD)
    assert grown.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "40.0"
    assert ask(tmp_path, f"get_active_thread_percentage {server}") == "40.0"
    assert ask(tmp_path, f"get_device_pinned_mem_limit {server} 0") == "8G"


def test_a_daemon_that_died_is_started_again_and_said(mps: Mps, tmp_path: Path) -> None:
    mps.prepare(QUARTER, CARD)
    assert mps.tend() == []
    pid = int((tmp_path / "mps/GPU-1/pipe/nvidia-cuda-mps-control.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    (event,) = wait_for(mps.tend)
    assert (event.key, event.text.partition(":")[0]) == (CARD.key, "mps_restarted")
    assert ask(tmp_path, "get_default_active_thread_percentage") == "25.0"
    assert mps.tend() == []


def test_the_last_lease_takes_the_daemon_with_it(mps: Mps, tmp_path: Path) -> None:
    mps.prepare(QUARTER, CARD)
    mps.prepare(HALF, CARD)
    mps.release("lse_b", CARD)
    assert ask(tmp_path, "get_default_active_thread_percentage") == "25.0"
    mps.release("lse_a", CARD)
    mps.release("lse_a", CARD)
    with pytest.raises(subprocess.CalledProcessError):
        ask(tmp_path, "get_server_list")


def test_a_new_agent_takes_the_daemon_over_or_stops_it(mps: Mps, tmp_path: Path) -> None:
    mps.prepare(QUARTER, CARD)
    pid = (tmp_path / "mps/GPU-1/pipe/nvidia-cuda-mps-control.pid").read_text()
    again = Mps(tmp_path, program=str(FAKE / "nvidia-cuda-mps-control"))
    again.adopt(QUARTER, CARD)
    assert again.forget_others({"lse_a"}) == []
    assert (tmp_path / "mps/GPU-1/pipe/nvidia-cuda-mps-control.pid").read_text() == pid
    third = Mps(tmp_path, program=str(FAKE / "nvidia-cuda-mps-control"))
    (event,) = third.forget_others(set())
    assert event.text == "mps_stopped: a daemon that no lease uses"
    assert not (tmp_path / "mps/GPU-1").exists()


def test_what_stands_in_the_way_is_said(tmp_path: Path) -> None:
    absent = Mps(tmp_path, program="no-such-mps-control")
    assert absent.fits(CARD, Operator()) == "no-such-mps-control is not installed"
    with pytest.raises(CannotShare, match="is not installed"):
        absent.prepare(QUARTER, CARD)
    broken = Mps(tmp_path, program="false")
    with pytest.raises(CannotShare, match="does not start: it says nothing"):
        broken.prepare(QUARTER, CARD)
    cut = Device(**{**{name: getattr(CARD, name) for name in CARD.__slots__},
                    "card": CardReport(uuid="GPU-1", mig=MigState(enabled=True, pending=True))})  # fmt: skip
    assert absent.fits(cut, Operator()) == "the card is cut by MIG"
