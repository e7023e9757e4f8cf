"""Memory of the simulated card: every class, its end, pools, handles, processes that die or fork."""

import pytest

from tests.native.conftest import MakeCards
from tests.native.cuda_classes import CLASSES
from tests.native.fake.driver import (
    CONTEXT_IS_DESTROYED,
    HOST_MEMORY_NOT_REGISTERED,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    MIB,
    NOT_INITIALIZED,
    OUT_OF_MEMORY,
)
from tests.native.fake.run import Guest, tell

CONTEXT = 300 * MIB


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_takes_what_it_should_and_gives_it_back(make_cards: MakeCards, name: str) -> None:
    cards = make_cards(memory_mib=2048)
    before, held, after = tell(cards, "hold", name, 64 * MIB)
    took = held - before
    assert before == after == CONTEXT
    assert (64 * MIB <= took <= 90 * MIB) if CLASSES[name].on_card else took == 0
    assert cards.used_bytes() == 0


def test_small_allocations_share_large_pages(make_cards: MakeCards) -> None:
    """1,000 times 1,000 bytes: 1,024 each, in one page of 2 MiB."""
    assert tell(make_cards(), "small", 1000) == [2 * MIB, 0]


def test_wrong_calls_get_the_drivers_codes(make_cards: MakeCards) -> None:
    assert tell(make_cards(), "wrong_calls") == {
        "before cuInit": NOT_INITIALIZED,
        "no context": INVALID_CONTEXT,
        "no such device": INVALID_DEVICE,
        "no output": INVALID_VALUE,
        "zero bytes": INVALID_VALUE,
        "unknown pointer": INVALID_VALUE,
        "null pointer": 0,
        "inside an allocation": INVALID_VALUE,
        "twice": INVALID_VALUE,
        "odd element": INVALID_VALUE,
        "no total": INVALID_VALUE,
        "no flags": INVALID_VALUE,
        "handle of 1 MiB": INVALID_VALUE,
        "handle on device 7": INVALID_DEVICE,
        "not a pool": INVALID_VALUE,
        "not an array": INVALID_HANDLE,
        "not registered": HOST_MEMORY_NOT_REGISTERED,
        "context is gone": CONTEXT_IS_DESTROYED,
    }


def test_two_processes_share_one_card(make_cards: MakeCards) -> None:
    cards = make_cards(memory_mib=2048)
    first = Guest(cards, "keep", 1024 * MIB)
    assert first.hear() == 1324 * MIB
    assert tell(cards, "ask", 512 * MIB) == OUT_OF_MEMORY
    assert tell(cards, "ask", 424 * MIB) == 0
    first.go_on()
    first.end()
    assert tell(cards, "ask", 1400 * MIB) == 0


def test_racing_processes_never_get_more_than_the_card_has(make_cards: MakeCards) -> None:
    """Room for 600 MiB beside two contexts, not twice: it is never held by both, and nothing is left behind."""
    cards = make_cards(memory_mib=1536)
    guests = [Guest(cards, "race", 600 * MIB, 200) for _ in range(2)]
    for guest in guests:
        guest.hear()
    for guest in guests:
        guest.go_on()
    assert max(guest.end()[-1] for guest in guests) == 1200 * MIB
    assert cards.used_bytes() == 0


def test_a_killed_process_gives_all_back(make_cards: MakeCards) -> None:
    cards = make_cards(memory_mib=2048)
    guest = Guest(cards, "keep", 1024 * MIB)
    guest.hear()
    guest.kill()
    assert tell(cards, "ask", 1700 * MIB) == 0
    assert cards.used_bytes() == 0


def test_death_at_any_point_leaves_nothing(make_cards: MakeCards) -> None:
    """Three that allocate and free in a loop, killed wherever they are, five times over."""
    cards = make_cards()
    for _ in range(5):
        guests = [Guest(cards, "churn") for _ in range(3)]
        for guest in guests:
            guest.hear()
        for guest in guests:
            guest.kill()
        card = cards.list()[0]
        assert (card["used_bytes"], card["spilled_bytes"], card["processes"]) == (0, 0, [])


def test_a_pool_reserves_keeps_and_trims(make_cards: MakeCards) -> None:
    """Steps of 32 MiB, kept until a synchronisation finds more than the release threshold (0 by default), or a trim."""
    assert tell(make_cards(), "pool") == {
        "allocated": [10, 32, 32],
        "freed": [0, 32, 32],
        "again": [0, 32, 32],
        "synchronised": [0, 0, 0],
        "threshold": [0, 64, 64],
        "trimmed to 30": [0, 30, 30],
        "trimmed": [0, 0, 0],
        "high": [40, 64],
    }


def test_idle_bytes_of_a_pool_give_way(make_cards: MakeCards) -> None:
    assert tell(make_cards(memory_mib=1024), "pool_gives_way") == [0, OUT_OF_MEMORY]


def test_pools_of_two_cards_end_at_zero(make_cards: MakeCards) -> None:
    assert tell(make_cards(count=2), "pool_cycles", 3000) == [0, 0, 0, 0]


def test_a_handle_lives_as_long_as_anything_needs_it(make_cards: MakeCards) -> None:
    """Made, released but mapped, unmapped but retained, released; once more is an error."""
    assert tell(make_cards(), "references") == [4, 4, 4, 0, INVALID_VALUE]


def test_one_handle_at_two_addresses_is_one_memory(make_cards: MakeCards) -> None:
    assert tell(make_cards(), "mappings") == ["once", *[INVALID_VALUE] * 4, 0]


def test_memory_belongs_to_the_card_it_was_asked_of(make_cards: MakeCards) -> None:
    """A handle on device 1 with no context; plain memory of device 1 freed while device 0 is current."""
    assert tell(make_cards(count=2), "other_device") == [[300, 306], [300, 316], [300, 300]]


def test_managed_memory_spills_what_does_not_fit(make_cards: MakeCards) -> None:
    """3 GiB on a card of 2 GiB: it fills the card, leaves it, comes back."""
    assert tell(make_cards(memory_mib=2048), "managed") == [2048, 300, 2048, 300]


def test_a_forked_child_starts_anew(make_cards: MakeCards) -> None:
    """It must initialise the driver itself, pays its own context, and its end leaves the parent's memory alone."""
    assert Guest(make_cards(), "fork").end() == [[NOT_INITIALIZED, 750], 400, None]


def test_an_ordered_failure_comes_once(make_cards: MakeCards) -> None:
    cards = make_cards()
    cards.set(**{"fail.cuMemAlloc_v2": OUT_OF_MEMORY})
    assert [tell(cards, "ask", MIB) for _ in range(2)] == [OUT_OF_MEMORY, 0]


def test_spilled_bytes_are_told_and_die_with_their_process(make_cards: MakeCards) -> None:
    cards = make_cards(memory_mib=2048)
    guest = Guest(cards, "keep_managed", 3072 * MIB)
    guest.hear()
    assert cards.list()[0]["spilled_bytes"] == (3072 - 1748) * MIB
    guest.kill()
    assert cards.list()[0]["spilled_bytes"] == 0
