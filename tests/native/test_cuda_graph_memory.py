"""Graphs with memory nodes: charged from instantiation to the end of the executable graph."""

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.region import MIB


def test_graph_memory_is_charged_from_instantiation_to_the_end(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "graph g", "node-alloc a g 24m 0", "node-free g a") == [OK] * 4
        assert region.used() == 0
        assert guest.do("instantiate e g", "launch e", "launch e") == [OK] * 3
        assert region.used() == 24 * MIB
        assert guest.do("alloc b 41m", "exec-destroy e", "alloc b 64m") == [OUT_OF_MEMORY, OK, OK]


def test_a_graph_beyond_the_limit_is_not_instantiated(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "graph g", "node-alloc a g 40m 0", "node-alloc b g 40m 0")
        assert guest.do("instantiate e g") == [OUT_OF_MEMORY]
        assert region.used() == 0


def test_captured_memory_is_the_graphs(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        codes = guest.do("context 0", "stream s", "capture s", "async a 24m s", "free-async a s", "end-capture g s")
        assert codes == [OK] * 6
        assert region.used() == 0
        assert guest.do("instantiate e g", "launch e s") == [OK, OK]
        assert region.used() == 24 * MIB
        assert guest.do("exec-destroy e") == [OK]
        assert region.used() == 0


def test_what_a_graph_left_behind_is_charged_until_it_is_freed(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "graph g", "node-alloc a g 24m 0", "instantiate e g", "launch e", "exec-destroy e")
        assert region.used() == 24 * MIB
        assert guest.do("free-async a -") == [OK]
        assert (region.used(), region.unknown_frees()) == (0, 0)
