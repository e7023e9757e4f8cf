"""One rule in two forms, and both against the calendars read instant by instant."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine import ways
from allocator.engine.calendar import free_spans
from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fit import CONSTRAINTS, host_refusal, refusal
from allocator.engine.fleet import FOREVER, Ask, Fleet
from allocator.engine.later import next_free
from allocator.engine.view import View
from tests.allocator.engine.by_card import constraint_counts, earliest, largest_free, nearest_sizes
from tests.allocator.engine.strategies import SPAN
from tests.allocator.engine.worlds import (
    fill,
    fleets,
    has_room,
    host_at,
    is_legal,
    loaded,
    loads,
    plain_asks,
    taken_at,
    vector_asks,
    windows,
    within,
)  # fmt: skip

Load = list[tuple[Ask, int]]
FEW = settings(max_examples=50)
LOAD = {"in_use", "taken_whole", "memory_and_compute", "compute", "memory", "copy_bandwidth", "mig_slot"}


@given(fleets(), loads, vector_asks())
def test_view_and_fit_say_the_same(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    draft = loaded(fleet, wanted)
    now, view = draft.fleet(), draft.view(ask.starts, ask.ends)
    codes, fits = view.refusals(ask), view.fits(ask, slice(None))
    machines = {machine.node_id: machine for machine in now.machines}
    for card in now.cards:
        row, column = draft.layout.place_of[card.device_id]
        code = int(codes[row, column])
        name = None if code == -1 or CONSTRAINTS[code] == "not_together" else CONSTRAINTS[code]
        assert name == refusal(card, ask, machines[card.node_id])
        alone = refusal(card, replace(ask, pool=None, site=None), None)
        assert not fits[row, column] or alone is None
        assert fits[row, column] == (
            refusal(card, replace(ask, cores_milli=0, host_mib=0), machines[card.node_id]) is None
        )
    assert view.counts(ask) == constraint_counts(now, ask)


@FEW
@given(fleets(), loads, vector_asks())
def test_the_load_is_refused_exactly_when_some_instant_has_no_room(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    for card in loaded(fleet, wanted).fleet().cards:
        found = refusal(card, ask)
        if found is None or found in LOAD:
            assert (found is None) == has_room(card, ask)


@FEW
@given(fleets(), loads, windows, windows, loads, st.integers(0, 3))
def test_a_view_is_the_highest_sum_of_every_resource(
    fleet: Fleet, wanted: Load, before: tuple[int, int], after: tuple[int, int], more: Load, removed: int
) -> None:
    draft = loaded(fleet, wanted)
    views = [draft.view(*before)]  # one that follows changes, one that is made of them
    mark = draft.mark()
    fill(draft, more, first=2000)
    for lease in range(1000, 1000 + removed):
        draft.remove(UUID(int=lease))
    for view in [*views, draft.view(*after)]:
        assert_is_by_hand(view, draft.fleet())
    draft.rollback(mark)
    for view in [*views, draft.view(*after)]:
        assert_is_by_hand(view, draft.fleet())


def assert_is_by_hand(view: View, fleet: Fleet) -> None:
    for card in fleet.cards:
        at = view.layout.place_of[card.device_id]
        used = [taken_at(card, instant) for instant in within(view.starts, view.ends)]
        top = [max(one) for one in zip(*used, strict=True)]
        assert [card.permille - view.permille[at], card.mib - view.mib[at], card.copy_permille - view.copy[at]] == top[
            :3
        ]
        assert [view.pieces[at], view.wholes[at]] == top[3:]
    for row, machine in enumerate(fleet.machines):
        hosts = [host_at(machine, instant) for instant in within(view.starts, view.ends)]
        cores, mib = (max(one) for one in zip(*hosts, strict=True))
        assert (machine.cores_milli - view.cores[row], machine.mib - view.host_mib[row]) == (cores, mib)


@FEW
@given(fleets(), loads, loads, windows)
def test_rollback_restores_the_fleet_and_its_views(
    fleet: Fleet, wanted: Load, more: Load, window: tuple[int, int]
) -> None:
    draft = loaded(fleet, wanted)
    view, before, mark, plan = draft.view(*window), draft.fleet(), draft.mark(), draft.plan()
    kept = [
        one.copy() for one in (view.permille, view.mib, view.copy, view.cores, view.host_mib, view.free, view.spare)
    ]
    fill(draft, more, first=2000)
    draft.remove(UUID(int=1000))
    draft.rollback(mark)
    assert (draft.fleet(), draft.plan()) == (before, plan)
    now = (view.permille, view.mib, view.copy, view.cores, view.host_mib, view.free, view.spare)
    assert all(np.array_equal(one, other) for one, other in zip(kept, now, strict=True))


@FEW
@given(fleets(), loads)
def test_nothing_is_oversold_and_all_of_it_comes_back(fleet: Fleet, wanted: Load) -> None:
    draft = Draft.of(fleet)
    placed = fill(draft, wanted, first=1)
    assert is_legal(draft.fleet())
    for lease_id in placed:
        assert draft.remove(lease_id)
    assert draft.fleet() == fleet


@settings(max_examples=40)
@given(fleets(), loads, plain_asks())
def test_next_free_knows_the_host_and_the_link(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    now = loaded(fleet, wanted).fleet()
    machines = {machine.node_id: machine for machine in now.machines}
    length = None if ask.ends == FOREVER else ask.ends - ask.starts
    firsts = []
    for card in now.cards:
        later = [replace(ask, starts=at, ends=FOREVER if length is None else at + length) for at in range(3 * SPAN)]
        machine = machines[card.node_id]
        fits = (one.starts for one in later if one.starts >= ask.starts and refusal(card, one, machine) is None)
        firsts.append(next(fits, None))
        assert next_free(card, ask, machine) == firsts[-1]
    found = earliest(now, ask)
    assert (None if found is None else found.starts) == min((one for one in firsts if one is not None), default=None)


@settings(max_examples=150)
@given(fleets(), loads, vector_asks())
def test_the_ways_out_of_a_large_fleet_are_those_of_its_cards(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    draft = loaded(fleet, wanted)
    now = draft.fleet()
    assert ways.earliest(draft, ask) == earliest(now, ask)
    assert ways.largest_free(draft, ask) == largest_free(now, ask)
    for one in (ask, replace(ask, whole=False, devices=1)):
        near, by_card = ways.nearest_sizes(draft, one), nearest_sizes(now, one)
        assert [(size, card.device_id) for size, card in near] == [(size, card.device_id) for size, card in by_card]


@settings(max_examples=40)
@given(fleets(), loads, vector_asks())
def test_every_way_out_is_one(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    now = loaded(fleet, wanted).fleet()
    machines = {machine.node_id: machine for machine in now.machines}
    for size, card in nearest_sizes(now, replace(ask, whole=False)):
        smaller = replace(ask, permille=size.permille, mib=size.mib, whole=False)
        assert refusal(card, smaller, machines[card.node_id]) is None
    later = earliest(now, ask)
    if later is not None:
        moved = replace(
            ask, starts=later.starts, ends=FOREVER if ask.ends == FOREVER else later.starts + ask.ends - ask.starts
        )
        machine = machines[later.card.node_id]
        assert host_refusal(machine, moved, moved.starts, moved.ends) is None
        alike = [card for card in now.cards if card.node_id == machine.node_id]
        assert sum(refusal(card, moved) is None for card in alike) >= ask.devices


@FEW
@given(
    fleets(),
    vector_asks(),
    st.sampled_from(["permille", "mib", "devices", "starts", "cores_milli"]),
    st.integers(-9, 0),
)
def test_an_impossible_shape_is_refused_with_its_name(fleet: Fleet, ask: Ask, field: str, value: int) -> None:
    wrong = replace(ask, **{field: value - 1} if field != "starts" else {"starts": ask.ends})  # type: ignore[arg-type]
    draft = Draft.of(fleet)
    assert set(draft.view(wrong.starts, wrong.ends).counts(wrong)) <= {"impossible_shape"}
    assert (earliest(fleet, wrong), nearest_sizes(fleet, wrong)) == (None, [])
    for card in fleet.cards:
        with pytest.raises(NotPlaced, match="impossible_shape"):
            draft.place(card.device_id, wrong, lease_id=UUID(int=1))


@FEW
@given(fleets(), loads, plain_asks())
def test_free_spans_are_the_instants_at_which_card_and_host_take_it(fleet: Fleet, wanted: Load, ask: Ask) -> None:
    now = loaded(fleet, wanted).fleet()
    machines = {machine.node_id: machine for machine in now.machines}
    for card in now.cards:
        machine = machines[card.node_id]
        spans = free_spans(card, ask, machine)
        for instant in within(ask.starts, ask.ends):
            fits = refusal(card, replace(ask, starts=instant, ends=instant + 1), machine) is None
            assert any(span.starts <= instant < span.ends for span in spans) == fits
