"""The meter is pure: whatever the samples, the windows lie on the grid and their sums are the counters."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent.meter import SECOND_NS, Meter, Sample, Terms, Window, advance, begin, finish
from vxpu.states import LeaseState
from vxpu.units import MIB

START = 1_800_000_000 * SECOND_NS
QUARTER = Terms(share_permille=250, memory_mib=1000, compute_units=2, token=7)


def sample(at_s: float, compute_ns: int = 0, **over: int) -> Sample:
    ns = int(at_s * SECOND_NS)
    return Sample(**{"at_ns": START + ns, "mono_ns": 5 * SECOND_NS + ns, "compute_ns": compute_ns, **over})


def run(samples: list[Sample], terms: Terms = QUARTER, *, window_s: int = 10) -> tuple[Meter, list[Window]]:
    meter = begin(samples[0], terms, window_s=window_s)
    windows: list[Window] = []
    for one in samples[1:]:
        meter, closed = advance(meter, one, meter.terms, window_s=window_s)
        windows += closed
    return meter, windows


def test_a_busy_quarter_for_one_window() -> None:
    _, (window,) = run([sample(0), sample(5, 2_500_000_000), sample(10, 5_000_000_000)])
    assert (window.start_s, window.window_s, window.token) == (1_800_000_000, 10, 7)
    assert (window.granted_permille_s, window.used_permille_s, window.granted_mib_s) == (2500, 2500, 10_000)
    assert window.state == LeaseState.READY


def test_a_lease_that_starts_in_mid_window_is_granted_the_rest_only() -> None:
    _, (window,) = run([sample(4), sample(10, 1_000_000_000)])
    assert (window.start_s, window.granted_permille_s, window.used_permille_s) == (1_800_000_000, 1500, 500)


def test_a_resize_in_mid_window_is_split_at_its_instant() -> None:
    meter = begin(sample(0), QUARTER, window_s=10)
    half = replace(QUARTER, share_permille=500, memory_mib=2000)
    meter, none = advance(meter, sample(4), half, window_s=10)
    _, (window,) = advance(meter, sample(10), half, window_s=10)
    assert none == []
    assert (window.granted_permille_s, window.granted_mib_s) == (4 * 250 + 6 * 500, 4 * 1000 + 6 * 2000)


def test_a_closed_gate_grants_nothing_and_makes_no_window() -> None:
    meter = begin(sample(0), QUARTER, window_s=10)
    meter, _ = advance(meter, sample(5), replace(QUARTER, open=False), window_s=10)
    meter, windows = advance(meter, sample(3600), QUARTER, window_s=10)
    assert [window.granted_permille_s for window in windows] == [5 * 250]
    _, later = advance(meter, sample(3610), QUARTER, window_s=10)
    assert [window.granted_permille_s for window in later] == [2500]


def test_a_gap_is_spread_over_the_windows_that_it_touches() -> None:
    _, windows = run([sample(0), sample(25, 10_000_000_000)])
    assert [window.used_permille_s for window in windows] == [2000, 2000]


def test_a_counter_that_fell_counts_from_zero() -> None:
    _, (window,) = run([sample(0, 9_000_000_000), sample(10, 1_000_000_000)])
    assert window.used_permille_s == 500


def test_a_clock_set_back_loses_no_use_and_reopens_no_window() -> None:
    back = sample(2, 4_000_000_000, mono_ns=5 * SECOND_NS + 12 * SECOND_NS)
    meter, windows = run([sample(0), sample(11, 3_000_000_000), back])
    meter, later = advance(meter, sample(20, 4_000_000_000, mono_ns=40 * SECOND_NS), QUARTER, window_s=10)
    starts = [window.start_s for window in windows + later]
    assert starts == sorted(set(starts))
    assert used_of(windows + later) == 2000


def test_a_clock_set_forward_grants_the_monotonic_time_only() -> None:
    jumped = sample(600, 5_000_000_000, mono_ns=5 * SECOND_NS + 10 * SECOND_NS)
    meter, windows = run([sample(0), jumped])
    windows += finish(meter, jumped, window_s=10)
    assert sum(window.granted_permille_s for window in windows) in {2499, 2500}


def test_the_last_window_is_closed_early() -> None:
    meter, none = run([sample(0), sample(4, 1_000_000_000)])
    (window,) = finish(meter, sample(5, 1_500_000_000), window_s=10)
    assert none == []
    assert (window.granted_permille_s, window.used_permille_s) == (1250, 750)


def test_peak_is_the_highest_seen_and_a_broken_record_counts_where_it_was_broken() -> None:
    seen = [(0, 1, 9 * MIB), (5, 2, 9 * MIB), (10, 1, 9 * MIB), (20, 1, 12 * MIB + 1)]
    used = [sample(at, memory_bytes=mib * MIB, peak_bytes=peak) for at, mib, peak in seen]
    assert [window.peak_mib for window in run(used)[1]] == [2, 13]


def test_contended_needs_a_short_share_a_queue_and_a_busy_host() -> None:
    busy = {"whole_ns": 20 * SECOND_NS, "idle_ns": 0}
    in_line = sample(10, 3_000_000_000, waiting_ns=2 * SECOND_NS, **busy)
    assert run([sample(0), in_line])[1][0].contended
    assert not run([sample(0), replace(in_line, waiting_ns=0)])[1][0].contended
    assert not run([sample(0), replace(in_line, idle_ns=SECOND_NS)])[1][0].contended
    assert not run([sample(0), replace(in_line, compute_ns=5_000_000_000)])[1][0].contended


def test_a_window_never_has_more_than_the_device_and_loses_nothing() -> None:
    card = Terms(share_permille=1000, memory_mib=64, compute_units=1, token=1)
    meter, windows = begin(sample(0), card, window_s=10), []
    for at, used in ((10, 11 * SECOND_NS), (20, 20 * SECOND_NS), (30, 29 * SECOND_NS)):
        meter, closed = advance(meter, sample(at, used), card, window_s=10)
        windows += closed
    assert [window.used_permille_s for window in windows] == [10_000, 10_000, 9_000]


def test_what_cannot_be_read_is_not_zero() -> None:
    unread = replace(QUARTER, is_read=False)
    meter = begin(sample(0), unread, window_s=10)
    _, (window,) = advance(meter, sample(10), unread, window_s=10)
    assert (window.used_permille_s, window.granted_permille_s) == (None, 2500)


def used_of(windows: list[Window]) -> int:
    return sum(window.used_permille_s or 0 for window in windows)


steps = st.lists(
    st.tuples(
        st.integers(-3 * SECOND_NS, 40 * SECOND_NS), st.integers(0, 30 * SECOND_NS), st.integers(0, 8 * SECOND_NS),
    ),
    min_size=1, max_size=20,
)  # fmt: skip


@given(steps, st.sampled_from([1, 5, 60]))
def test_windows_lie_on_the_grid_once_each_and_add_up(steps: list[tuple[int, int, int]], window_s: int) -> None:
    at, mono, cpu = START + 123_456_789, SECOND_NS, 0
    meter = begin(Sample(at, mono, cpu), QUARTER, window_s=window_s)
    windows: list[Window] = []
    for clock, length, used in steps:
        at, mono, cpu = at + clock, mono + length, cpu + used
        meter, closed = advance(meter, Sample(at, mono, cpu), QUARTER, window_s=window_s)
        meter = Meter.from_json(json.loads(json.dumps(meter.to_json())))
        windows += closed
    windows += finish(meter, meter.last, window_s=window_s)
    starts = [window.start_s for window in windows]
    assert starts == sorted(set(starts))
    assert all(start % window_s == 0 for start in starts)
    counted = cpu * 1000 // (2 * SECOND_NS)
    is_full = any(window.used_permille_s == 1000 * window_s for window in windows)  # then the rest waits for another
    assert used_of(windows) == counted or (is_full and used_of(windows) < counted)
    granted = 250 * (mono - SECOND_NS) // SECOND_NS
    assert sum(window.granted_permille_s for window in windows) == granted


@given(st.lists(st.integers(1, 3 * SECOND_NS), min_size=1, max_size=30))
def test_how_often_it_is_sampled_changes_no_sum(lengths: list[int]) -> None:
    moments = [0]
    for length in lengths:
        moments.append(moments[-1] + length)
    often = [Sample(START + moment, moment, moment // 2) for moment in moments]
    totals = []
    for samples in (often, [often[0], often[-1]]):
        meter, windows = run(samples, window_s=5)
        windows += finish(meter, samples[-1], window_s=5)
        totals.append(used_of(windows))
    assert totals[0] == totals[1]
