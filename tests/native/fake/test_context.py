"""Contexts of the simulated card, and memory that several processes, handles or APIs know."""

from tests.native.conftest import MakeCards
from tests.native.fake.driver import (
    CONTEXT_IS_DESTROYED,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    MIB,
    OUT_OF_MEMORY,
)
from tests.native.fake.run import Guest, tell

CONTEXT = 300 * MIB
PEER_ALREADY_ON, PEER_NOT_ON, UNAVAILABLE = 704, 705, 46


def test_contexts_of_a_process_pay_once(make_cards: MakeCards) -> None:
    cards = make_cards(count=2)
    guest = Guest(cards, "contexts")
    assert guest.hear() == [300, 364, 300]
    assert (cards.used_bytes(0), cards.used_bytes(1)) == (0, CONTEXT)
    guest.go_on()
    assert guest.end() == [[300]]


def test_a_context_needs_room_on_the_card(make_cards: MakeCards) -> None:
    cards = make_cards(memory_mib=512)
    first = Guest(cards, "keep", 64 * MIB)
    first.hear()
    assert tell(cards, "enter") == OUT_OF_MEMORY
    first.kill()
    assert tell(cards, "enter") == 0


def test_an_exclusive_card_takes_one_process(make_cards: MakeCards) -> None:
    cards = make_cards()
    cards.set(compute_mode=3)
    first = Guest(cards, "exclusive")
    first.hear()
    assert tell(cards, "enter") == UNAVAILABLE
    first.kill()
    assert tell(cards, "enter") == 0
    cards.set(compute_mode=2)
    assert tell(cards, "enter") == UNAVAILABLE


def test_raised_limits_take_memory(make_cards: MakeCards) -> None:
    """100 MiB more heap; 1 KiB more stack for 132 x 2048 threads; back; too much; a fresh context."""
    assert tell(make_cards(sms=132), "limits") == [300, 400, 664, 564, OUT_OF_MEMORY, 300]


def test_the_stack_of_contexts(make_cards: MakeCards) -> None:
    """A destroyed context can't be pushed, a primary one is not destroyed but released."""
    told = tell(make_cards(), "stack_of_contexts")
    assert told == [0, 1, True, True, INVALID_CONTEXT, INVALID_CONTEXT, 12000, 0, INVALID_CONTEXT]


def test_peer_access_is_switched_once(make_cards: MakeCards) -> None:
    assert tell(make_cards(count=2), "peers") == [1, PEER_NOT_ON, 0, PEER_ALREADY_ON, 0, INVALID_DEVICE]


def test_a_green_context_has_its_part_and_the_primary_memory(make_cards: MakeCards) -> None:
    """At least 30 of 132 SMs: four groups of 32. Its memory outlives it."""
    assert tell(make_cards(sms=132), "green") == {
        "sms": [132, 32, 4],
        "groups": 4,
        "owner is the primary one": True,
        "then": CONTEXT_IS_DESTROYED,
        "left": 364,
        "freed": 300,
    }


def test_shared_memory_is_taken_once(make_cards: MakeCards) -> None:
    cards = make_cards()
    exporter = Guest(cards, "export")
    ipc, file, used = exporter.hear()
    assert used == CONTEXT + 68 * MIB
    assert tell(cards, "take_shared", ipc, file) == {
        "same": True,
        "size": 64 * MIB,
        "taken": 0,
        "closes": [0, 0, INVALID_VALUE],
        "release": [0, INVALID_VALUE],
        "left": 0,
    }
    exporter.go_on()
    assert exporter.end() == [[INVALID_CONTEXT, CONTEXT]]


def test_an_exporter_that_died_has_nothing_to_open(make_cards: MakeCards) -> None:
    cards = make_cards()
    exporter = Guest(cards, "export")
    ipc, _, _ = exporter.hear()
    exporter.kill()
    late = Guest(cards, "take_shared", ipc, "/dev/null")
    assert f"cuIpcOpenMemHandle_v2 answered {INVALID_HANDLE}" in late.process.communicate()[1]


def test_a_pool_of_another_process(make_cards: MakeCards) -> None:
    cards = make_cards()
    owner = Guest(cards, "share_pool")
    file, data = owner.hear()
    assert tell(cards, "take_pool", file, data) == [0, INVALID_VALUE, 0, 0, 0, 0]
    owner.kill()


def test_the_calls_of_32_bits(make_cards: MakeCards) -> None:
    assert tell(make_cards(), "old_addresses") == [True] * 5


def test_external_memory_is_someone_elses(make_cards: MakeCards) -> None:
    """Taken, its bytes seen, three frees, one too many, left."""
    assert tell(make_cards(), "outside_memory") == [0, True, 0, 0, 0, INVALID_HANDLE, 0]


def test_graph_memory_stays_reserved_until_the_trim(make_cards: MakeCards) -> None:
    """It outlives its graph until the program frees it, and its reserve until the trim."""
    assert tell(make_cards(), "graph_memory") == {
        "added": [0, 0, 0],
        "launched": [10, 10, 10],
        "its graph is gone": [10, 10, 10],
        "freed": [0, 10, 10],
        "trimmed": [0, 0, 0],
    }
