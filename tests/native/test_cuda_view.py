"""What a slice sees of a card: CUDA's and NVML's memory, processes and utilisation (cases 1, 9, 16)."""

import subprocess
import sys
import time
import uuid

import pytest

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.guests import BUILD, run
from tests.native.region import MIB

CARD = 24 * 1024 * MIB


@pytest.mark.parametrize("command", ["info none", "info free", "info total", "info"])
def test_left_out_results_answer_as_the_driver_does(card_region: CardRegion, command: str) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(None)) as bare, Guest(cards.env(region)) as guest:
        bare.do("context 0")
        guest.do("context 0", "alloc a 8m")
        assert guest.words(command)[-1] == bare.words(command)[-1]
        assert guest.figures("info") == (56 * MIB, 64 * MIB)


def test_no_context_is_the_drivers_error(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(None)) as bare, Guest(cards.env(region)) as guest:
        assert guest.do("info", "alloc a 1m", "array b 4 4 0", "total 9") == bare.do(
            "info", "alloc a 1m", "array b 4 4 0", "total 9"
        )


def test_total_is_the_limit_and_free_what_is_left(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, overhead_bytes=4 * MIB, ctx_bytes=10 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.figures("total 0") == (64 * MIB,)
        guest.do("context 0")
        assert guest.figures("info") == (50 * MIB, 64 * MIB)
        guest.do("alloc a 20m")
        assert guest.figures("info") == (30 * MIB, 64 * MIB)


def test_a_limit_above_the_card_shows_the_card(card_region: CardRegion) -> None:
    cards, region = card_region(limit=100 * CARD)
    with Guest(cards.env(None)) as bare, Guest(cards.env(region)) as guest:
        bare.do("context 0", "alloc a 2g")
        guest.do("context 0")
        assert guest.figures("info")[1] == guest.figures("total 0")[0] == CARD
        assert guest.figures("info")[0] == bare.figures("info")[0]


def test_what_others_hold_of_the_card_lowers_free(card_region: CardRegion) -> None:
    cards, region = card_region(limit=23 * 1024 * MIB)
    with Guest(cards.env(None)) as other, Guest(cards.env(region)) as guest:
        other.do("context 0", "alloc a 20g")
        guest.do("context 0")
        assert guest.figures("info") == (other.figures("info")[0], 23 * 1024 * MIB)


@pytest.mark.parametrize(
    ("visible", "first"), [("1,0", 1), ("1", 1), ("0", 0), ("GPU-", 0)], ids=["reversed", "subset", "one", "uuid"]
)
def test_limits_follow_the_card_however_devices_are_listed(card_region: CardRegion, visible: str, first: int) -> None:
    cards, region = card_region(limit=64 * MIB, count=2)
    region.set(1, limit_bytes=32 * MIB)
    order = cards.uuid(0) if visible == "GPU-" else visible
    with Guest(cards.env(region, CUDA_VISIBLE_DEVICES=order)) as guest:
        assert guest.figures("total 0") == ((64, 32)[first] * MIB,)
        assert guest.do("context 0", "alloc a 8m") == [OK, OK]
        assert region.used(device=first) == 8 * MIB


MAKE_MIG_DEVICE = """
import pynvml as n
n.nvmlInit()
card = n.nvmlDeviceGetHandleByIndex(0)
n.nvmlDeviceSetMigMode(card, 1)
n.nvmlGpuInstanceCreateComputeInstance(n.nvmlDeviceCreateGpuInstance(card, 14), 0)
print(n.nvmlDeviceGetUUID(n.nvmlDeviceGetMigDeviceHandleByIndex(card, 0)))
"""


def test_limits_follow_a_mig_device_by_its_uuid(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    made = run([sys.executable, "-W", "ignore", "-c", MAKE_MIG_DEVICE], cards.env(None))
    name = made.stdout.strip()
    with Guest(cards.env(region, CUDA_VISIBLE_DEVICES=name)) as guest:
        assert guest.do("context 0") == [OUT_OF_MEMORY]  # the slice has the card, which this is not
    words = uuid.UUID(name.removeprefix("MIG-")).bytes
    region.set(uuid_high=int.from_bytes(words[:8]), uuid_low=int.from_bytes(words[8:]))
    with Guest(cards.env(region, CUDA_VISIBLE_DEVICES=name)) as guest:
        assert guest.figures("total 0") == (64 * MIB,)
        assert guest.do("context 0", "alloc a 64m", "alloc b 1") == [OK, OK, OUT_OF_MEMORY]


def test_an_empty_list_of_devices_has_none(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    none = {"CUDA_VISIBLE_DEVICES": ""}
    with Guest(cards.env(None, **none)) as bare, Guest(cards.env(region, **none)) as guest:
        assert guest.init == bare.init
        assert guest.do("total 0", "context 0") == bare.do("total 0", "context 0")


def test_nvml_shows_the_slice_and_only_its_processes(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(None)) as other, Guest(cards.env(region)) as guest:
        other.do("context 0", "alloc a 2g")
        guest.do("context 0", "alloc a 24m")
        assert guest.figures("nvml-memory 0") == (64 * MIB, 40 * MIB, 24 * MIB, 64 * MIB, 0, 40 * MIB, 24 * MIB)
        assert guest.figures("nvml-processes 0") == (guest.process.pid,)
        assert set(other.figures("nvml-processes 0")) == {guest.process.pid, other.process.pid}


def test_nvml_asks_for_room_as_the_driver_does(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.figures("nvml-room 0") == (0, 0)  # no process: success, none needed
        guest.do("context 0")
        assert guest.figures("nvml-room 0") == (7, 1)  # one: insufficient size, and how many


def test_nvml_of_a_card_of_another_slice_is_left_as_it_is(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, count=2)
    region.set(1, uuid_low=1)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0")
        assert guest.figures("nvml-memory 0")[0] == 64 * MIB
        assert guest.figures("nvml-memory 1")[0] == CARD


def busy_card(guest: Guest) -> int:
    """Waits until NVML's samples show work; what it shows then."""
    while guest.figures("nvml-utilization 0")[0] == 0:
        time.sleep(0.05)
    return guest.figures("nvml-utilization 0")[0]


def work(env: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [str(BUILD / "tests/cuda_work"), "steady", "ms=20000"]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)


def test_others_use_of_the_card_does_not_show(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, share=500)
    with Guest(cards.env(None)) as bare, Guest(cards.env(region)) as guest, work(cards.env(None)) as other:
        guest.do("context 0")
        assert busy_card(bare) > 0
        assert guest.figures("nvml-utilization 0") == (0, 0)
        other.kill()


def test_utilisation_is_the_slices_use_over_its_share(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, share=10)
    with Guest(cards.env(region)) as guest, work(cards.env(region)) as own:
        assert busy_card(guest) == 100  # one per cent of the card is all of it
        own.kill()
