"""A slice of a simulated card from the inside, mode by mode: which card, how much of it, and the way to it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import shm
from agent.card_leases import CardLeases
from agent.cards import Cards as Watch
from agent.cdi import CdiFiles, Injection, find_driver, open_cdi
from agent.devices.nvidia import NvidiaPort
from agent.enforce.modes.choose import open_sharing
from agent.enforce.modes.port import Grant
from agent.state import SliceRecord
from tests.agent.bench import Bench
from tests.agent.cards import FAKE, Cards, build_fake
from tests.agent.test_mig import turn_on
from tests.building import NATIVE
from vxpu.states import Isolation, LeaseState

LOOK = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
count, total = ctypes.c_int(), ctypes.c_size_t()
driver.cuDeviceGetCount(ctypes.byref(count))
driver.cuDeviceTotalMem_v2(ctypes.byref(total), 0)
print(count.value, total.value >> 20)
"""
Give = Callable[..., SliceRecord]


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    build_fake()
    return Cards.create(tmp_path / "cards", 2)


@pytest.fixture
def give(strict: Bench, cards: Cards) -> Give:
    """A slice of card 1 (of 0 and 1), made by the mode that the operator wants."""

    def make(mode: str, *, memory_mib: int = 2048, share_permille: int = 140) -> SliceRecord:
        config = replace(strict.config, card_mode=mode)

        def child() -> SliceRecord:
            port = NvidiaPort()
            _, card = port.discover()
            if mode == "mig":
                turn_on(port, card)
                card = port.refresh(card)
            record = SliceRecord(
                lease_id="lse_a", token=1, version=0, state=LeaseState.PREPARING, device_key=card.key, uid=64101,
                memory_mib=memory_mib, share_permille=share_permille, compute_units=1, icd="", devices=(),
                ends_at_ns=None, cpu_permille=0,
            )  # fmt: skip
            leases = CardLeases(
                config, strict.enforcer, door=port, sharing=open_sharing(config, port, strict.enforcer),
                cdi=open_cdi(config), cards=Watch(port, strict.enforcer, config.cards), devices={card.key: card},
            )  # fmt: skip
            return leases.prepare(record)

        record = cards.run(child)
        strict.made[record.lease_id] = (record.spec, strict.enforcer.prepare(record.spec, None))
        return record

    return make


def inside(strict: Bench, record: SliceRecord, *argv: str) -> tuple[int, str]:
    assert record.card is not None
    words = [f"{name}={value}" for name, value in record.card.environment]
    return strict.run(record.spec, "/usr/bin/env", *words, *argv)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any uid may enter: pytest's own are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="vxpu-container-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def contain(root: Path, spec: dict[str, Any], uid: int, *argv: str) -> subprocess.CompletedProcess[str]:
    """The least of a container engine: the edits of a CDI device in a mount namespace of their own, and a user."""
    edits = spec["devices"][0]["containerEdits"]
    lines = ["set -e", "mount --make-rprivate /", f"mkdir -p {root}/dev {root}/python; cp -a /etc {root}/etc",
             f"for n in null zero urandom; do touch {root}/dev/$n; mount --bind /dev/$n {root}/dev/$n; done",
             f"mount --bind {root}/etc /etc", f"mount --rbind {root}/dev /dev", "mount -t tmpfs tmpfs /run",
             f"mount --bind {sys.base_prefix} {root}/python"]  # fmt: skip
    for mount in edits["mounts"]:
        source, target = mount["hostPath"], mount["containerPath"]
        made = f"mkdir -p {target}" if Path(source).is_dir() else f"mkdir -p $(dirname {target}); touch {target}"
        lines += [made, f"mount --bind {source} {target}"]
        lines += [f"mount -o remount,bind,ro {target}"] if "ro" in mount["options"] else []
    words = [*edits["env"], f"LD_LIBRARY_PATH={root}/driver", f"{root}/python/bin/python3", "-c", argv[0]]
    lines.append(f"exec setpriv --reuid {uid} --regid {uid} --clear-groups env -i {shlex.join(words)}")
    script = "\n".join(lines)
    return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_container_made_by_the_cdi_file_has_the_slice_and_its_limits(
    strict: Bench, give: Give, open_folder: Path
) -> None:
    build_fake("all")
    record = give("limiter")
    driver = open_folder / "driver"
    driver.mkdir()
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        shutil.copy(FAKE / name, driver / name)
    injection = Injection(NATIVE / "build/libvxpu.so", NATIVE / "build/shim/libcuda.so.1", find_driver([driver]))
    assert record.card is not None
    grant = Grant(record.card.isolation, "", nodes=record.devices, share_permille=record.share_permille)
    region = strict.enforcer.region(record.spec).folder
    files = CdiFiles(open_folder / "cdi", injection)
    spec = json.loads(files.write("lse_a", uid=record.uid, region=region, grant=grant).read_text())
    done = contain(open_folder, spec, record.uid, LOOK)
    assert (done.stdout, done.stderr) == ("1 2048\n", "")
    other = contain(open_folder, spec, record.uid + 1, LOOK)
    assert "AssertionError" in other.stderr  # not its region: the library fails closed


def test_a_limited_slice_sees_its_one_card(strict: Bench, give: Give) -> None:
    record = give("limiter")
    assert record.card is not None
    assert (record.card.mode, record.card.isolation) == ("limiter", Isolation.ADVISORY)
    assert inside(strict, record, sys.executable, "-c", LOOK) == (0, "1 24576\n")
    assert inside(strict, record, "/bin/ls", "/dev")[1].split().count("vxpu-fake0") == 0


def test_a_slice_of_a_cut_card_sees_its_instance(strict: Bench, give: Give) -> None:
    record = give("mig")
    assert record.card is not None
    assert (record.card.mode, record.card.isolation) == ("mig", Isolation.MIG)
    code, printed = inside(strict, record, sys.executable, "-c", LOOK)
    count, total_mib = printed.split()
    assert (code, count) == (0, "1")
    assert 2048 <= int(total_mib) < 24576 // 4


def test_a_slice_reaches_its_cards_mps_daemon(strict: Bench, give: Give, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(FAKE), prepend=":")
    record = give("mps")
    try:
        code, printed = inside(strict, record, "/bin/sh", "-c", "ls $CUDA_MPS_PIPE_DIRECTORY; touch /run/vxpu/mps/x")
        assert "control" in printed
        assert code != 0
        ask = "import socket; socket.socket(socket.AF_UNIX).connect('/run/vxpu/mps/control'); print('there')"
        assert inside(strict, record, sys.executable, "-c", ask) == (0, "there\n")
    finally:
        from agent.enforce.modes.mps import Mps

        Mps(strict.config.run_dir).forget_others(set())


def test_a_whole_card_is_sold_with_the_library_told_to_stand_aside(strict: Bench, give: Give) -> None:
    record = give("limiter", memory_mib=24576, share_permille=1000)
    assert record.card is not None
    assert (record.card.mode, record.card.inert) == ("exclusive", True)
    limits = (strict.enforcer.region(record.spec).folder / "limits").read_bytes()
    assert shm.Limits.from_buffer_copy(limits).flags & shm.FLAG_INERT
    assert inside(strict, record, sys.executable, "-c", LOOK) == (0, "1 24576\n")
