"""The gain of a card's time, and what a slice had and did not debit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.gain import (
    LEAST_PPM,
    MOST_CREDIT_NS,
    MOST_PPM,
    WHOLE_PPM,
    Debt,
    GainReading,
    next_gain_ppm,
    settle,
)

MS = 1_000_000
START = GainReading(mono_ns=5_000 * MS, busy_ns=700 * MS, measured_ns=900 * MS)


def after(*, ms: int = 500, busy_ms: int, measured_ms: int) -> GainReading:
    return GainReading(START.mono_ns + ms * MS, START.busy_ns + busy_ms * MS, START.measured_ns + measured_ms * MS)


def gain(current_ppm: int = WHOLE_PPM, **interval: int) -> int:
    return next_gain_ppm(START, after(**interval), current_ppm=current_ppm)


def test_events_that_hold_another_tenants_slices_are_worth_what_the_card_really_did() -> None:
    assert gain(busy_ms=200, measured_ms=400) == 500_000
    assert gain(busy_ms=300, measured_ms=300) == WHOLE_PPM
    assert gain(busy_ms=240, measured_ms=200) == 1_200_000


def test_little_evidence_moves_it_a_little() -> None:
    assert gain(busy_ms=20, measured_ms=40) == WHOLE_PPM - 50_000
    assert gain(busy_ms=100, measured_ms=200) == WHOLE_PPM - 250_000


def test_it_stands_still_where_nothing_can_be_learnt() -> None:
    for interval in (
        {"busy_ms": 0, "measured_ms": 0},  # silent
        {"busy_ms": 0, "measured_ms": 300},  # a long kernel: measured now, busy in the interval before
        {"busy_ms": 300, "measured_ms": 0},  # and the other way round
        {"busy_ms": 200, "measured_ms": -900},  # a region made anew
        {"busy_ms": -700, "measured_ms": 200},
        {"ms": 100, "busy_ms": 50, "measured_ms": 90},
        {"ms": 60_000, "busy_ms": 50, "measured_ms": 90},
        {"ms": -1, "busy_ms": 50, "measured_ms": 90},
    ):
        assert gain(730_000, **interval) == 730_000


def test_a_liar_gets_no_further_than_the_clamp() -> None:
    assert gain(busy_ms=400, measured_ms=10**9) == LEAST_PPM
    assert gain(busy_ms=10**9, measured_ms=300) == MOST_PPM


@given(
    current=st.integers(-(2**63), 2**63),
    ms=st.integers(-(10**6), 10**6),
    busy=st.integers(-(2**63), 2**63),
    measured=st.integers(-(2**63), 2**64),
)
def test_whatever_the_counters_say_it_stays_within_its_bounds(current: int, ms: int, busy: int, measured: int) -> None:
    found = next_gain_ppm(GainReading(0, 0, 0), GainReading(ms * MS, busy, measured), current_ppm=current)
    assert LEAST_PPM <= found <= MOST_PPM


def test_it_settles_at_the_true_ratio_under_steady_contention() -> None:
    found, reading = WHOLE_PPM, START
    for _ in range(12):
        following = GainReading(reading.mono_ns + 500 * MS, reading.busy_ns + 50 * MS, reading.measured_ns + 166 * MS)
        found, reading = next_gain_ppm(reading, following, current_ppm=found), following
    assert abs(found - 50 * WHOLE_PPM // 166) < 30_000


def test_what_a_killed_process_had_is_debited_at_the_second_look() -> None:
    first = settle(Debt(), busy_ns=300 * MS, debited_ns=0)
    assert first.debit_ns == 0
    second = settle(first, busy_ns=0, debited_ns=0)
    assert second == Debt(0, 300 * MS)
    assert settle(second, busy_ns=0, debited_ns=0) == second


def test_a_kernel_debited_a_moment_late_is_not_debited_twice() -> None:
    late = settle(settle(Debt(), busy_ns=300 * MS, debited_ns=0), busy_ns=0, debited_ns=300 * MS)
    assert late == Debt()


def test_a_lie_about_the_debits_buys_no_credit() -> None:
    rich = settle(Debt(), busy_ns=0, debited_ns=10**15)
    assert rich.balance_ns == -MOST_CREDIT_NS
    fallen = settle(settle(Debt(), busy_ns=100 * MS, debited_ns=-(10**15)), busy_ns=0, debited_ns=-(10**15))
    assert fallen.debit_ns == 100 * MS


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=40))
def test_nobody_is_debited_more_than_he_had_and_the_total_never_falls(steps: list[tuple[int, int]]) -> None:
    debt, busy = Debt(), 0
    for had, debited in steps:
        following = settle(debt, busy_ns=had, debited_ns=debited)
        busy += had
        assert debt.debit_ns <= following.debit_ns <= busy
        debt = following
