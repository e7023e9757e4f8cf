"""Oversubscription: beyond the guaranteed part plain memory becomes managed memory, as far as it was bought."""

import pytest

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.region import MIB


@pytest.mark.parametrize(("take", "give"), [("alloc", "free"), ("async", "free-async"), ("managed", "free")])
def test_memory_beyond_the_guaranteed_part_spills(card_region: CardRegion, take: str, give: str) -> None:
    cards, region = card_region(limit=96 * MIB, soft_bytes=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", f"{take} a 40m", f"{take} b 30m", f"{take} c 4m") == [OK] * 4
        assert (region.used(), region.used("spill_bytes")) == (44 * MIB, 30 * MIB)
        assert guest.do(f"{take} d 22m", f"{give} b") == [OUT_OF_MEMORY, OK]
        assert region.used("spill_bytes") == 0
        assert guest.do(f"{take} d 30m", f"{give} d", f"{give} c", f"{give} a") == [OK] * 4
        assert (region.used(), region.used("spill_bytes"), region.unknown_frees()) == (0, 0, 0)


def test_pitched_memory_spills_with_the_drivers_pitch(card_region: CardRegion) -> None:
    cards, region = card_region(limit=96 * MIB, soft_bytes=8 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "pitch a 1000 8192", "pitch b 1000 8192", "free b", "free a") == [OK] * 5
        assert (region.usage("peak_bytes"), region.used("spill_bytes")) == (8 * MIB, 0)


def test_what_must_stay_on_the_device_never_spills(card_region: CardRegion) -> None:
    cards, region = card_region(limit=96 * MIB, soft_bytes=8 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 0 shared")
        assert guest.do("handle h 10m 0", "from a 10m p -", "array b 1024 1024 0") == [OUT_OF_MEMORY] * 3
        assert guest.do("alloc c 10m") == [OK]
        assert guest.words("ipc-get c")[-1] != "0"


def test_without_spill_nothing_becomes_managed(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "alloc a 64m") == [OK, OK]
        assert guest.do("managed b 1m", "alloc c 1m", "async d 1m") == [OUT_OF_MEMORY] * 3


def test_a_spill_that_the_driver_refuses_is_refunded(card_region: CardRegion) -> None:
    cards, region = card_region(limit=96 * MIB, soft_bytes=8 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0")
        cards.fail("cuMemAllocManaged", 719)
        assert guest.do("alloc a 10m") == [719]
        assert region.used("spill_bytes") == 0


def test_the_view_of_a_slice_with_spill(card_region: CardRegion) -> None:
    cards, region = card_region(limit=96 * MIB, soft_bytes=64 * MIB, ctx_bytes=4 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "alloc a 60m")
        assert guest.figures("info") == (32 * MIB, 96 * MIB)
        guest.do("alloc b 30m")
        assert guest.figures("info") == (2 * MIB, 96 * MIB)
