"""Stream-ordered memory and pools (case 3)."""

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.guests import figures, run_tool
from tests.native.region import MIB


def test_a_hundred_thousand_cycles_on_mixed_streams_and_pools_end_where_they_began(card_region: CardRegion) -> None:
    cards, region = card_region(limit=256 * MIB, count=2)
    seen = figures(run_tool("cuda_cycles", "pools", "100000", env=cards.env(region)))
    assert seen == {"cycles": 100_000, "refused": 0, "wrong_device": 0, "left": 0}
    assert (region.used(), region.used(device=1)) == (0, 0)


def test_freeing_while_another_device_is_current_credits_the_owner(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, count=2)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 1", "alloc a 8m", "async b 4m", "from c 6m p -")
        assert (region.used(), region.used(device=1)) == (12 * MIB, 6 * MIB)
        assert guest.do("context 1", "free a", "free-async b", "context 0", "free-async c") == [OK] * 5
        assert (region.used(), region.used(device=1)) == (0, 0)


def test_a_pool_pays_for_what_it_keeps(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 0", "threshold p 32m", "from a 40m p -", "free-async a -")
        assert region.used() == 32 * MIB
        assert guest.do("from a 40m p -", "from b 25m p -") == [OK, OUT_OF_MEMORY]
        assert region.used() == 40 * MIB
        assert guest.do("free-async a -", "sync", "trim p 0") == [OK, OK, OK]
        assert region.used() == 0


def test_a_would_be_refusal_first_empties_our_pools(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 0", "threshold p 64m", "from a 40m p -", "free-async a -", "sync")
        assert region.used() == 40 * MIB
        assert guest.do("alloc b 60m") == [OK]
        assert region.used() == 60 * MIB
        assert guest.do("free b", "pool-destroy p") == [OK, OK]
        assert region.used() == 0


def test_a_destroyed_pool_is_paid_for_until_its_last_block_is_freed(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 0", "threshold p 64m", "from a 8m p -", "from b 8m p -", "free-async b -")
        assert region.used() == 16 * MIB
        assert guest.do("pool-destroy p") == [OK]
        assert region.used() == 8 * MIB
        assert guest.do("free-async a -", "pool q 0", "from a 64m q -") == [OK, OK, OK]


def test_the_default_pools_threshold_counts_too(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "default-pool p 0", "threshold p 64m", "async a 20m", "free-async a")
        assert region.used() == 20 * MIB
        assert guest.do("async a 64m", "threshold p 0", "free-async a") == [OK, OK, OK]
        assert region.used() == 0


def test_a_pool_of_host_memory_is_not_charged(card_region: CardRegion) -> None:
    cards, region = card_region(limit=8 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "pool p 0 host", "from a 40m p -") == [OK, OK, OK]
        assert region.used() == 0
        assert guest.do("free-async a -") == [OK]
        assert region.unknown_frees() == 0


def test_a_pool_allocation_that_the_driver_refuses_leaves_the_pool_as_it_was(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "pool p 0", "threshold p 64m", "from a 8m p -", "free-async a -")
        cards.fail("cuMemAllocFromPoolAsync", 719)
        assert guest.do("from a 20m p -") == [719]
        assert region.used() == 8 * MIB
