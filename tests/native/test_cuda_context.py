"""Contexts, what they take and what dies with them; limits of a context (case 7 and heaps)."""

import pytest

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.region import MIB

CONTEXT = 30 * MIB
STACK, PRINTF, HEAP = 0, 1, 2


def test_the_first_context_of_a_process_reserves_and_the_last_gives_back(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, ctx_bytes=CONTEXT)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "context 0", "create c 0")
        assert (region.used("ctx_bytes"), region.used()) == (CONTEXT, 0)
        assert guest.do("alloc a 36m", "release 0", "release 0") == [OUT_OF_MEMORY, OK, OK]
        assert region.used("ctx_bytes") == CONTEXT
        assert guest.do("destroy c") == [OK]
        assert region.used("ctx_bytes") == 0


def test_no_room_for_a_context_is_out_of_memory(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, ctx_bytes=CONTEXT)
    with Guest(cards.env(region)) as first, Guest(cards.env(region)) as second, Guest(cards.env(region)) as third:
        assert [first.do("context 0"), second.do("context 0")] == [[OK], [OK]]
        assert third.do("context 0", "create c 0") == [OUT_OF_MEMORY, OUT_OF_MEMORY]
        assert first.do("release 0") == [OK]
        assert third.do("context 0") == [OK]


def test_what_the_driver_refuses_gives_the_context_back(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, ctx_bytes=CONTEXT)
    with Guest(cards.env(region)) as guest:
        for call, command in (("cuDevicePrimaryCtxRetain", "context 0"), ("cuCtxCreate_v2", "create c 0")):
            cards.fail(call, 719)
            assert guest.do(command) == [719]
            assert region.used("ctx_bytes") == 0


@pytest.mark.parametrize("end", ["release 0", "reset 0"])
def test_the_primary_contexts_end_refunds_its_memory(card_region: CardRegion, end: str) -> None:
    cards, region = card_region(limit=64 * MIB, ctx_bytes=CONTEXT, host_limit_bytes=8 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "alloc a 8m", "managed b 2m", "array c 64 64 0", "host d 8m", f"limit {HEAP} 12m")
        assert guest.do(end) == [OK]
        assert [region.used(field) for field in ("used_bytes", "ctx_bytes", "host_bytes")] == [0, 0, 0]
        guest.do("release 0")
        assert guest.do("context 0", "alloc a 34m") == [OK, OK]


def test_a_created_contexts_end_refunds_its_memory_alone(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "alloc a 8m", "create c 0", "current c", "alloc b 16m", "handle h 4m 0")
        assert region.used() == 28 * MIB
        assert guest.do("destroy c") == [OK]
        assert region.used() == 12 * MIB
        assert guest.do("context 0", "free a", "handle-release h") == [OK, OK, OK]
        assert region.used() == 0


def test_stream_ordered_memory_goes_with_the_last_context(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "default-pool p 0", "threshold p 64m", "async a 8m", "async b 8m", "free-async b")
        assert region.used() == 16 * MIB
        assert guest.do("release 0") == [OK]
        assert region.used() == 0


def test_heap_and_printf_growth_is_checked_before(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", f"limit {HEAP} 40m", f"limit {PRINTF} 20m") == [OK] * 3
        assert region.used("ctx_bytes") == (32 + 13) * MIB
        assert guest.do(f"limit {HEAP} 80m") == [OUT_OF_MEMORY]
        assert guest.do(f"limit {HEAP} 8m", f"limit {PRINTF} 1m") == [OK, OK]
        assert region.used("ctx_bytes") == 0


def test_stacks_cost_what_all_threads_of_the_card_need(card_region: CardRegion) -> None:
    cards, region = card_region(limit=1024 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", f"limit {STACK} 3k") == [OK, OK]
        assert region.used("ctx_bytes") == 2048 * 132 * 2048
        assert guest.do(f"limit {STACK} 64k") == [OUT_OF_MEMORY]
        cards.fail("cuCtxSetLimit", 719)
        assert guest.do(f"limit {STACK} 4k") == [719]
        assert region.used("ctx_bytes") == 2048 * 132 * 2048


def test_the_first_process_goes_and_the_second_is_counted_and_limited(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, ctx_bytes=8 * MIB)
    for _ in range(3):
        with Guest(cards.env(region)) as guest:
            assert guest.do("context 0", "alloc a 56m", "alloc b 1") == [OK, OK, OUT_OF_MEMORY]
            assert (region.used(), region.used("ctx_bytes")) == (56 * MIB, 8 * MIB)
        assert len(region.live_slots()) == 1
