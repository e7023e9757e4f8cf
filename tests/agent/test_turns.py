"""Turns on a card whose memory is oversubscribed: who takes them, and that each has its share over a cycle."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent.turns import CYCLE_NS, DRAIN_NS, LEAST_TURN_NS, NO_TURN, Sharer, Turn, must_take_turns, turns

MIB = 1 << 20
shares = st.lists(st.integers(1, 1000), min_size=2, max_size=8).filter(lambda found: sum(found) <= 1000)
clocks = st.integers(10**12, 10**15)


def is_open(turn: Turn, at_ns: int) -> bool:
    return not turn.hold_from_ns <= at_ns < turn.hold_until_ns


def over_a_cycle(parts: list[int], now_ns: int) -> list[tuple[int, list[Turn]]]:
    """What stands in the pages through one cycle: the plan at each moment that something begins or ends."""
    cycle_ns = turns(parts, now_ns=now_ns)[0].cycle_ns
    at_ns, plans = now_ns, []
    while at_ns < now_ns + cycle_ns:
        plan = turns(parts, now_ns=at_ns)
        plans.append((at_ns, plan))
        at_ns = min(end for turn in plan for end in (turn.hold_from_ns, turn.hold_until_ns) if end > at_ns)
    return [*plans, (now_ns + cycle_ns, turns(parts, now_ns=now_ns + cycle_ns))]


@given(shares, clocks)
def test_never_two_at_once(parts: list[int], now_ns: int) -> None:
    for at_ns, plan in over_a_cycle(parts, now_ns):
        assert sum(is_open(turn, at_ns) for turn in plan) <= 1


@given(shares, clocks)
def test_over_a_cycle_each_has_its_share_within_a_permille(parts: list[int], now_ns: int) -> None:
    plans = over_a_cycle(parts, now_ns)
    cycle_ns = plans[0][1][0].cycle_ns
    for index, share in enumerate(parts):
        earned = DRAIN_NS * sum(parts)  # as the gate does, at the end of its hold
        for (at_ns, plan), (next_ns, _) in pairwise(plans):
            turn = plan[index]
            if is_open(turn, at_ns):
                assert at_ns < turn.lend_until_ns == turn.hold_from_ns
                earned += (next_ns - at_ns) * (share + turn.lend_permille)
        assert abs(earned / cycle_ns - share) <= 1


@given(shares, clocks, st.data())
def test_one_look_in_each_turn_is_enough(parts: list[int], now_ns: int, data: st.DataObject) -> None:
    """What a look writes in a slice's turn stands until the next: held from its end, with that turn's own loan."""
    index = data.draw(st.integers(0, len(parts) - 1))
    turn = turns(parts, now_ns=now_ns)[index]
    start_ns, end_ns = turn.hold_until_ns, turn.hold_from_ns + turn.cycle_ns
    if is_open(turn, now_ns):
        end_ns = turn.hold_from_ns
        start_ns = turn.hold_until_ns - turn.cycle_ns
    assert end_ns - start_ns >= LEAST_TURN_NS - DRAIN_NS - 1
    at_ns = data.draw(st.integers(start_ns, end_ns - 1))
    later = turns(parts, now_ns=at_ns)[index]
    assert (later.hold_from_ns, later.lend_until_ns) == (end_ns, end_ns)
    assert later.hold_until_ns - start_ns == turn.cycle_ns


@given(shares, clocks)
def test_everybody_is_free_within_a_cycle_when_no_more_is_written(parts: list[int], now_ns: int) -> None:
    for turn in turns(parts, now_ns=now_ns):
        assert turn.hold_until_ns <= now_ns + turn.cycle_ns
        assert turn.lend_until_ns <= now_ns + 2 * turn.cycle_ns


@given(st.lists(st.integers(0, 300), max_size=3), clocks)
def test_who_has_no_spill_is_neither_held_nor_lent_to(parts: list[int], now_ns: int) -> None:
    plan = turns(parts, now_ns=now_ns)
    for share, turn in zip(parts, plan, strict=True):
        assert (turn == NO_TURN) == (share == 0 or sum(one > 0 for one in parts) < 2)


def test_small_shares_make_the_cycle_longer() -> None:
    assert turns([500, 500], now_ns=0)[0].cycle_ns == CYCLE_NS
    assert turns([10, 490], now_ns=0)[0].cycle_ns == 50 * LEAST_TURN_NS


def test_turns_are_for_two_who_spill_on_a_card_that_is_full() -> None:
    def must(*sharers: Sharer, other_mib: int = 0) -> bool:
        return must_take_turns(sharers, other_bytes=other_mib * MIB, card_bytes=1000 * MIB)

    spilling, other = Sharer(300, 600 * MIB, 100 * MIB), Sharer(300, 600 * MIB, 0)
    assert must(spilling, spilling)
    assert must(spilling, spilling, other)
    assert not must(spilling, other)
    assert not must(spilling, Sharer(0, 600 * MIB, 100 * MIB))
    half = Sharer(300, 500 * MIB, 100 * MIB)
    assert not must(half, half)
    assert must(half, half, other_mib=1)
