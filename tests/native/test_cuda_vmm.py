"""Memory by handle, sharing and imports: charged once, to the device where it is (cases 2 and 4)."""

from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.conftest import CardRegion
from tests.native.region import MIB


def test_a_handle_needs_no_context_and_charges_its_own_device(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB, count=2)
    with Guest(cards.env(region)) as guest:
        assert guest.do("handle a 8m 0", "context 0", "handle b 6m 1", "handle c 100m host") == [OK] * 4
        assert (region.used(), region.used(device=1)) == (8 * MIB, 6 * MIB)
        assert guest.do("handle-release c", "handle-release b", "handle-release a") == [OK] * 3
        assert (region.used(), region.used(device=1), region.unknown_frees()) == (0, 0, 0)


def test_a_device_that_does_not_exist_is_the_drivers_to_refuse(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(None)) as bare, Guest(cards.env(region)) as guest:
        assert guest.do("handle a 2m 7", "handle a 1 0") == bare.do("handle a 2m 7", "handle a 1 0")
        assert region.used() == 0


def test_memory_stays_charged_while_it_is_mapped(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "handle a 40m 0", "map m a", "handle-release a") == [OK] * 4
        assert region.used() == 40 * MIB
        assert guest.do("handle b 40m 0", "unmap m", "handle b 40m 0") == [OUT_OF_MEMORY, OK, OK]
        assert region.used() == 40 * MIB


def test_retained_handles_are_counted(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "handle a 8m 0", "map m a", "retain b m", "retain c m") == [OK] * 5
        assert guest.do("handle-release a", "handle-release b", "unmap m") == [OK] * 3
        assert region.used() == 8 * MIB
        assert guest.do("handle-release c") == [OK]
        assert (region.used(), region.unknown_frees()) == (0, 0)


def test_a_handle_retained_after_its_release_keeps_the_charge(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "handle a 8m 0", "map m a", "handle-release a")
        assert guest.do("retain b m", "unmap m") == [OK, OK]
        assert region.used() == 8 * MIB
        assert guest.do("handle-release b") == [OK]
        assert region.used() == 0


def test_an_imported_handle_is_not_charged_again(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "handle a 40m 0", "import b a", "map m b") == [OK] * 4
        assert region.used() == 40 * MIB
        assert guest.do("unmap m", "handle-release b") == [OK, OK]
        assert region.used() == 40 * MIB
        assert guest.do("handle-release a") == [OK]
        assert (region.used(), region.unknown_frees()) == (0, 0)


def test_ipc_memory_is_charged_to_its_maker_alone(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as maker, Guest(cards.env(region)) as user:
        maker.do("context 0", "alloc a 40m")
        handle, code = maker.words("ipc-get a")
        assert code == "0"
        assert user.do("context 0", f"ipc-open b {handle}", "ipc-close b") == [OK] * 3
        assert user.do(f"ipc-open b {handle}", f"ipc-open c {handle}") == [OK, OK]
        assert region.used() == 40 * MIB
        assert user.do("ipc-close b", "ipc-close c") == [OK, OK]
        assert (region.used(), region.unknown_frees()) == (40 * MIB, 0)


def test_two_releases_too_many_are_the_drivers_to_refuse(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        guest.do("context 0", "handle a 8m 0", "handle-release a")
        assert guest.do("handle-release a")[0] not in {OK, OUT_OF_MEMORY}
        assert region.used() == 0


def test_memory_bound_to_a_multicast_object_stays_charged_with_it(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "handle a 8m 0", "multicast mc 8m", "multicast-bind mc a") == [OK] * 4
        assert guest.do("handle-release a") == [OK]
        assert region.used() == 8 * MIB
        assert guest.do("handle-release mc") == [OK]
        assert (region.used(), region.unknown_frees()) == (0, 0)


def test_external_memory_is_another_ones(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "handle a 40m 0", "external x a") == [OK] * 3
        assert region.used() == 40 * MIB
        assert guest.do("free x", "external-destroy x", "handle-release a") == [OK] * 3
        assert (region.used(), region.unknown_frees()) == (0, 0)
