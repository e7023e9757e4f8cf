"""A slice of a simulated card from the inside, mode by mode: which card, how much of it, and the way to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent import shm
from agent.card_leases import CardLeases
from agent.cards import Cards as Watch
from agent.cdi import open_cdi
from agent.devices.nvidia import NvidiaPort
from agent.enforce.modes.choose import open_sharing
from agent.state import SliceRecord
from tests.agent.bench import Bench
from tests.agent.cards import FAKE, Cards, build_fake
from tests.agent.test_mig import turn_on
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


def test_a_limited_slice_sees_its_one_card(strict: Bench, give: Give) -> None:
    record = give("limiter")
    assert record.card is not None
    assert (record.card.mode, record.card.isolation) == ("limiter", Isolation.STRICT)
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
