"""The driver's memory cap for a slice's cgroup: set, changed, lifted; and why it is not there, in words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.devices.nvidia import NvidiaPort
from agent.devices.port import Device
from agent.enforce.cgroup import cgroup_mounts
from agent.enforce.modes.limiter import limiter_badge
from agent.enforce.modes.port import Operator
from agent.memory_fence import MemoryFence
from tests.agent.bench import skip_unless_root
from tests.agent.cards import Cards, build_fake
from vxpu.states import Isolation
from vxpu.units import MIB
from vxpu.wire.node import MigState

GROUPS = Path("/sys/fs/cgroup/vxpu-test")
MAX = 2**64 - 1


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    skip_unless_root()
    build_fake()
    return Cards.create(tmp_path / "cards", 1)


@pytest.fixture
def on_card(cards: Cards) -> Callable[..., Any]:
    def run(story: Callable[[MemoryFence, Device, NvidiaPort], Any], *, groups: Path | None = GROUPS) -> Any:
        def child() -> Any:
            port = NvidiaPort()
            return story(MemoryFence(port, groups=groups), port.discover()[0], port)

        return cards.run(child)

    return run


def limits(port: NvidiaPort, card: Device, lease_id: str) -> tuple[int, int]:
    import pynvml

    asked = pynvml.c_nvmlGetMemoryLimits_v1_t()
    asked.nameSpace = os.fsencode(GROUPS / lease_id)
    port.nvml.order(card.uuid, "limits", lambda handle: pynvml.nvmlDeviceGetMemoryLimits_v1(handle, asked))
    return int(asked.softLimit), int(asked.hardLimit)


def test_a_slice_is_capped_resized_and_let_go(on_card: Callable[..., Any]) -> None:
    def story(fence: MemoryFence, card: Device, port: NvidiaPort) -> Any:
        seen: list[Any] = [fence.why_not(card), fence.set(card, "lse_a", memory_mib=1024), limits(port, card, "lse_a")]
        seen.append(fence.set(card, "lse_a", memory_mib=2048, guaranteed_mib=1024))
        seen.append(limits(port, card, "lse_a"))
        seen.append(fence.used_bytes(card, "lse_a"))
        return [*seen, fence.clear(card, "lse_a"), limits(port, card, "lse_a")]

    assert on_card(story) == [
        "", "", (1024 * MIB, 1024 * MIB), "", (1024 * MIB, 2048 * MIB), 0, "", (0, MAX),
    ]  # fmt: skip


def test_only_a_fenced_card_is_called_strict(on_card: Callable[..., Any]) -> None:
    def story(fence: MemoryFence, card: Device, port: NvidiaPort) -> Any:
        strict, lax = Operator(host_is_strict=True), Operator(host_is_strict=False)
        return [limiter_badge(port, fence, card, operator).isolation for operator in (strict, lax)]

    assert on_card(story) == [Isolation.STRICT, Isolation.ADVISORY]
    assert on_card(story, groups=None) == [Isolation.ADVISORY, Isolation.ADVISORY]


def test_an_old_driver_has_no_fence(on_card: Callable[..., Any], cards: Cards) -> None:
    cards.set(unsupported_memory_limits=1)

    def story(fence: MemoryFence, card: Device, port: NvidiaPort) -> Any:
        older = card.card and card.card.model_copy(update={"driver_version": "570.1"})
        told = fence.why_not(card), fence.set(card, "lse_a", memory_mib=1), fence.used_bytes(card, "lse_a")
        return *told, fence.why_not(replace(card, simulated=False, card=older))

    why = "this driver has no memory limits for control groups"
    assert on_card(story) == (why, why, None, "the driver has no memory limits before r615")


def test_what_the_machine_lacks_is_said(on_card: Callable[..., Any]) -> None:
    def story(fence: MemoryFence, card: Device, port: NvidiaPort) -> Any:
        cut = card.card and card.card.model_copy(update={"mig": MigState(enabled=True, pending=True)})
        return fence.why_not(card), fence.why_not(replace(card, card=cut)), fence.why_not(replace(card, card=None))

    assert on_card(story, groups=None) == ("the slices have no cgroup v2",) * 2 + ("no NVIDIA driver",)
    assert on_card(story)[1] == "the driver does not fence MIG instances"


def test_a_driver_that_refuses_is_no_crash(on_card: Callable[..., Any], cards: Cards) -> None:
    cards.set(**{"fail.nvmlDeviceSetMemoryLimits_v1": 4})
    said = on_card(lambda fence, card, _: (fence.set(card, "a", memory_mib=1), fence.set(card, "a", memory_mib=1)))
    assert said == ("memory limits of the driver: the driver allows it to root only", "")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of version 2, for guests to step into."""
    skip_unless_root()
    point = next((mount.point for mount in cgroup_mounts() if mount.kind == "cgroup2"), None)
    if point is None:
        pytest.skip("no cgroup v2 is mounted here")
    folder = point / f"vxpu-fence-{os.getpid()}" / "lse_a"
    folder.mkdir(parents=True)
    yield folder
    folder.rmdir()
    folder.parent.rmdir()


def test_a_guest_of_the_group_cannot_take_more_whatever_it_loads(on_card: Callable[..., Any], group: Path) -> None:
    def start(mib: int) -> subprocess.Popen[str]:
        client = str(Path(__file__).with_name("card_client.py"))
        step_in = f"echo 0 > {group}/cgroup.procs; exec {sys.executable} {client} {mib}"
        return subprocess.Popen(["/bin/sh", "-c", step_in], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)  # fmt: skip

    def story(fence: MemoryFence, card: Device, port: NvidiaPort) -> Any:
        assert fence.set(card, "lse_a", memory_mib=1024) == ""
        said = start(900).communicate()
        guest = start(100)
        assert guest.stdout is not None
        ready = guest.stdout.readline(), fence.used_bytes(card, "lse_a")
        guest.communicate()
        return said, ready

    # 300 MiB of each process are its context's.
    said, (ready, used) = on_card(story, groups=Path("/sys/fs/cgroup", group.parent.name))
    assert said == ("", "cuMemAlloc_v2: 2\n")
    assert (ready, used >= 400 * MIB) == ("ready\n", True)
