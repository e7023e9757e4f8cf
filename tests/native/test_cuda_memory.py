"""Plain, pitched, managed, host and array memory of a slice of a simulated card (cases 1, 2, 17, 18)."""

import pytest

from tests.native.card_guest import INVALID_VALUE, OK, OUT_OF_MEMORY, Guest, play
from tests.native.conftest import CardRegion, MakeCards
from tests.native.region import MIB

CONTEXT = 300 * MIB  # what a context takes of the simulated card itself


def test_the_cap_is_exact_and_beyond_it_is_exactly_out_of_memory(card_region: CardRegion) -> None:
    cards, region = card_region(limit=1024 * MIB)
    codes = play(
        cards.env(region), "context 0", "alloc a 600m", "alloc b 424m", "alloc c 1", "free b", "alloc c 424m", "free a"
    )
    assert codes == [OK, OK, OK, OUT_OF_MEMORY, OK, OK, OK]
    assert region.usage("peak_bytes") == 1024 * MIB


@pytest.mark.parametrize(
    ("take", "give", "charged"),
    [
        ("alloc a 5m", "free a", 6 * MIB),
        ("alloc a 100", "free a", 4096),
        ("pitch a 1000 4096", "free a", 4 * MIB),
        ("managed a 5m", "free a", 6 * MIB),
        ("array a 256 256 0", "array-destroy a", 2 * MIB),
        ("array a 64 64 64", "array-destroy a", 4 * MIB),
        ("mipmap a 256 256 9", "mipmap-destroy a", 2 * MIB),
        ("handle a 6m 0", "handle-release a", 6 * MIB),
        ("async a 5m", "free-async a", 5 * MIB),
    ],
    ids=lambda value: str(value).split(" ", maxsplit=1)[0],
)
def test_each_class_is_charged_as_the_driver_takes_it(
    card_region: CardRegion, take: str, give: str, charged: int
) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", take) == [OK, OK]
        assert region.used() == charged
        assert guest.do(give) == [OK]
        assert region.used() == 0
        region.set(limit_bytes=charged - 4096)
        assert guest.do(take) == [OUT_OF_MEMORY]
        assert region.used() == 0


def test_what_the_driver_refuses_is_refunded_with_its_own_code(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0")
        for call, take in (("cuMemAlloc_v2", "alloc a 8m"), ("cuMemAllocPitch_v2", "pitch a 1000 1000")):
            cards.fail(call, 719)
            assert guest.do(take) == [719]  # the guest itself checks that its outputs are untouched
            assert region.used() == 0
        assert guest.do("alloc a 0", "alloc a 64m") == [INVALID_VALUE, OK]


def test_unknown_pointers_pass_through_and_are_counted(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        bare = guest.do("raw-free 12345")
        guest.do("context 0", "alloc a 8m")
        assert guest.do("raw-free 12345")[0] not in {OK, OUT_OF_MEMORY}
        assert region.unknown_frees() == 0
        assert (region.used(), bare[0] != OK) == (8 * MIB, True)


def test_host_memory_has_its_own_quota(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, host_limit_bytes=10 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "host a 6m", "register b 4m", "host c 1") == [OK, OK, OK, OUT_OF_MEMORY]
        assert (region.used("host_bytes"), region.used()) == (10 * MIB, 0)
        assert guest.do("host-free a", "unregister b", "host c 10m") == [OK, OK, OK]
        region.set(host_limit_bytes=0)
        assert guest.do("host d 100m") == [OK]


def test_a_whole_device_is_left_alone(card_region: CardRegion) -> None:
    cards, region = card_region(limit=1 * MIB, flags=1)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "alloc a 600m", "async b 5m", "free-async b", "handle h 2m 0") == [OK] * 5
        total = cards.list()[0]["memory_bytes"]
        assert guest.figures("info")[1] == total
        assert guest.figures("total 0") == (total,)
        assert region.used() == 0


def test_a_card_of_another_slice_refuses_all(card_region: CardRegion, make_cards: MakeCards) -> None:
    cards, region = card_region(limit=64 * MIB, count=2)
    region.set(1, uuid_low=1)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 1", "create c 1", "context 0", "alloc a 8m") == [OUT_OF_MEMORY, OUT_OF_MEMORY, OK, OK]
        assert guest.do("handle h 2m 1", "pool p 1", "from b 1m p -") == [OUT_OF_MEMORY, OK, OUT_OF_MEMORY]


def test_without_a_region_there_is_no_device(make_cards: MakeCards) -> None:
    cards = make_cards()
    env = cards.env(None) | {"LD_PRELOAD": cards.preload, "VXPU_REGION_DIR": str(cards.path / "absent")}
    with Guest(env) as guest:
        assert guest.init[-1] != "0"
        assert OK not in guest.do("context 0", "alloc a 8m", "handle h 2m 0", "managed m 1m", "host p 1m")


def test_shrinking_below_use_and_growing_at_the_next_call(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "alloc a 40m")
        region.set(limit_bytes=20 * MIB)
        assert guest.figures("info") == (0, 20 * MIB)
        assert guest.do("alloc b 1") == [OUT_OF_MEMORY]
        region.set(limit_bytes=80 * MIB)
        assert guest.do("alloc b 40m", "free a", "free b") == [OK, OK, OK]
        assert region.used() == 0


def test_a_forked_child_refunds_nothing_of_its_parent(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "alloc a 40m")
        assert guest.do("fork") == [OK]  # the child answers first...
        child = guest.do("free a", "context 0")
        assert child[0] != OK
        assert region.used() == 40 * MIB
        guest.do("exit")  # ...and now the parent
        assert guest.do("alloc b 24m", "free a") == [OK, OK]


def test_a_killed_guests_bytes_are_the_next_ones(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as first:
        assert first.do("context 0", "alloc a 64m") == [OK, OK]
        with Guest(cards.env(region)) as second:
            assert second.do("context 0", "alloc a 4k") == [OK, OUT_OF_MEMORY]
            first.process.kill()
            first.process.wait()
            assert second.do("alloc a 64m") == [OK]
            assert region.used() == 64 * MIB


def test_contexts_of_the_simulated_card_cost_what_they_cost(card_region: CardRegion) -> None:
    cards, region = card_region(limit=1024 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0")
        assert cards.used_bytes() == CONTEXT
        assert region.used() == 0
