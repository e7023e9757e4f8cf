"""Cards that are cut: a legal start has to be free, not only capacity."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fit import refusal
from allocator.engine.fleet import Fleet
from allocator.engine.mig import MigLayout, Slots, choose, layout_of, mask_of, places_left
from allocator.engine.score import rank
from tests.allocator.engine.by_card import largest_free
from tests.allocator.engine.strategies import make_ask, make_card

CARD = UUID(int=1)


def known(model: str, mib: int) -> MigLayout:
    found = layout_of(model, mib)
    assert found is not None
    return found


A100, A30 = known("NVIDIA A100-SXM4-80GB", 80_000), known("NVIDIA A30", 24_000)
layouts = st.sampled_from([A100, A30])


def cut_card(layout: MigLayout = A100) -> Fleet:
    return Fleet.of([replace(make_card(1, mib=layout.profiles[-1].mib), mig=layout)])


def place_all(draft: Draft, *sizes: tuple[int, int]) -> list[Slots | None]:
    asks = [make_ask(permille=permille, mib=mib) for permille, mib in sizes]
    return [draft.place(CARD, ask, lease_id=UUID(int=9 + at)).slots for at, ask in enumerate(asks)]


def test_the_profiles_are_those_of_the_user_guide() -> None:
    assert [(one.name, one.length, one.starts) for one in A100.profiles] == [
        ("1g", 1, (0, 1, 2, 3, 4, 5, 6)), ("1g.x2", 2, (0, 2, 4, 6)), ("2g", 2, (0, 2, 4)), ("3g", 4, (0, 4)),
        ("4g", 4, (0,)), ("7g", 8, (0,)),
    ]  # fmt: skip
    assert [(one.name, one.permille, one.mib) for one in A30.profiles] == [
        ("1g", 250, 6_000), ("2g", 500, 12_000), ("4g", 1000, 24_000),
    ]  # fmt: skip
    assert layout_of("NVIDIA L40S", 48_000) is None


@pytest.mark.parametrize(
    ("permille", "mib", "name"),
    [(142, 10_000, "1g"), (142, 10_001, "1g.x2"), (143, 1, "2g"), (1, 20_001, "3g"), (571, 1, "4g"), (572, 1, "7g")],
)
def test_an_ask_gets_the_smallest_profile_that_holds_both(permille: int, mib: int, name: str) -> None:
    profile = A100.smallest(permille, mib)
    assert profile is not None
    assert profile.name == name


def test_slices_go_where_larger_ones_do_not_begin() -> None:
    draft = Draft.of(cut_card())
    assert place_all(draft, (142, 1), (285, 1), (571, 1)) == [(6, 1), (4, 2), (0, 4)]
    assert [refusal(draft.card(CARD), make_ask(permille=size, mib=1)) for size in (142, 143)] == [
        "compute", "memory_and_compute",
    ]  # fmt: skip


def test_seven_of_one_slice_fit_and_no_eighth() -> None:
    draft = Draft.of(cut_card())
    assert {slots.start for slots in place_all(draft, *[(142, 10_000)] * 7) if slots} == set(range(7))
    with pytest.raises(NotPlaced, match="compute"):
        place_all(draft, (142, 10_000))


def test_free_capacity_without_a_legal_start_is_refused() -> None:
    draft = Draft.of(cut_card())
    starts = {slots.start: 9 + at for at, slots in enumerate(place_all(draft, *[(142, 1)] * 7)) if slots}
    for start in (0, 2, 3, 4, 6):
        draft.remove(UUID(int=starts[start]))
    three = make_ask(permille=428, mib=1)
    assert refusal(draft.card(CARD), three) == "mig_slot"
    assert draft.view(0, 10).counts(three) == {"mig_slot": 1}
    assert largest_free(draft.fleet(), three) == (285, 20_000)


def test_a_start_has_to_be_free_over_the_whole_period() -> None:
    draft = Draft.of(cut_card(A30))

    def place(lease: int, starts: int, ends: int, permille: int) -> Slots | None:
        return draft.place(CARD, make_ask(starts, ends, permille=permille, mib=1), lease_id=UUID(int=lease)).slots

    assert [place(50, 0, 5, 250), place(51, 0, 5, 250), place(52, 0, 9, 500)] == [(3, 1), (2, 1), (0, 2)]
    draft.remove(UUID(int=50))
    assert place(53, 5, 9, 250) == (3, 1)
    assert refusal(draft.card(CARD), make_ask(4, 6, permille=250, mib=1)) == "mig_slot"  # one at each instant
    assert place(54, 4, 5, 250) == (3, 1)


def test_whole_shared_and_cut_cards_are_one_search() -> None:
    cards = [replace(make_card(1, mib=80_000), mig=A100), make_card(2, mib=80_000)]
    found = rank(Fleet.of(cards), make_ask(permille=142, mib=1_000), policy="binpack", limit=5)
    assert [one.card.device_id.int for one in found] == [1, 2]
    assert found[0].terms["memory_used"] > found[1].terms["memory_used"]
    draft = Draft.of(Fleet.of(cards))
    draft.place(CARD, make_ask(permille=1000, mib=1, whole=True), lease_id=UUID(int=7))
    assert draft.view(0, 1).counts(make_ask(whole=True)) == {"in_use": 1}


@given(layouts, st.integers(0, 255))
def test_where_a_larger_one_fits_a_smaller_one_does(layout: MigLayout, busy: int) -> None:
    busy &= (1 << layout.slices) - 1
    can = [choose(layout, one, busy) is not None for one in layout.profiles]
    assert can == sorted(can, reverse=True)


@given(layouts, st.integers(0, 255))
def test_the_chosen_start_is_free_and_leaves_most_places(layout: MigLayout, busy: int) -> None:
    for profile in layout.profiles:
        found = choose(layout, profile, busy)
        free = [start for start in profile.starts if not busy & mask_of(Slots(start, profile.length))]
        assert (found is not None) == bool(free)
        if found is not None:
            left = [places_left(layout, busy | mask_of(Slots(start, profile.length))) for start in free]
            assert found.start in free
            assert places_left(layout, busy | mask_of(found)) == max(left)


def test_of_all_short_sequences_more_fit_than_first_start_first() -> None:
    """What the rule is for: over every order of three to five asks, it never takes fewer than the lowest start."""

    def taken(order: tuple[int, ...], *, lowest: bool) -> int:
        busy = count = 0
        for number in order:
            profile = A100.profiles[number]
            free = [s for s in profile.starts if not busy & mask_of(Slots(s, profile.length))]
            slots = Slots(free[0], profile.length) if free and lowest else choose(A100, profile, busy)
            if slots is not None:
                busy, count = busy | mask_of(slots), count + 1
        return count

    orders = [order for length in (3, 4) for order in product((0, 2, 3, 4), repeat=length)]
    totals = [sum(taken(order, lowest=lowest) for order in orders) for lowest in (False, True)]
    assert totals[0] > totals[1]
