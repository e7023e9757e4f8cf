"""Device time and memory of slices from what a driver says of processes."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from agent.card_meter import LONGEST_QUESTION_US, REMEMBERED_NS, CardMeter
from vxpu.units import MIB

MS = 1_000_000
US = 1_000
SECOND_US = 1_000_000
START_US = 1_800_000_000 * SECOND_US


@dataclass(frozen=True)
class Sample:
    pid: int
    at_us: int
    sm_permille: int


def metered(**members: list[int]) -> CardMeter:
    meter = CardMeter(since_us=START_US)
    for lease_id in members:
        meter.begin(lease_id)
    meter.claim(members, mono_ns=MS)
    meter.look({}, mono_ns=MS)
    return meter


def test_a_share_of_a_period_is_time_of_the_card() -> None:
    meter = metered(a=[10, 11], b=[20])
    meter.fold([Sample(10, START_US + 166_667, 400), Sample(20, START_US + 166_667, 600)], since_us=START_US)
    meter.fold([Sample(11, START_US + 333_334, 1000)], since_us=START_US + 166_667)
    had = meter.look({}, mono_ns=501 * MS)
    assert had == {"a": 166_667 * 400 + 166_667 * 1000, "b": 166_667 * 600}
    assert meter.since_us == START_US + 333_334
    assert meter.counters("a").compute_ns == had["a"]  # type: ignore[union-attr]
    assert meter.look({}, mono_ns=1001 * MS) == {"a": 0, "b": 0}


def test_several_samples_of_a_process_cover_one_after_the_other() -> None:
    meter = metered(a=[10])
    ends = [START_US + 100_000, START_US + 200_000]
    meter.fold([Sample(10, ends[0], 1000), Sample(10, ends[1], 500)], since_us=START_US)
    assert meter.look({}, mono_ns=501 * MS) == {"a": 150_000 * US}


def test_the_last_sample_of_a_dead_process_is_its_slices() -> None:
    meter = metered(a=[10])
    meter.claim({"a": []}, mono_ns=MS + REMEMBERED_NS)
    meter.fold([Sample(10, START_US + 100_000, 1000)], since_us=START_US)
    assert meter.look(None, mono_ns=501 * MS) == {"a": 100 * MS}
    meter.claim({"a": []}, mono_ns=MS + REMEMBERED_NS + 1)
    meter.fold([Sample(10, START_US + 200_000, 1000)], since_us=START_US + 100_000)
    assert meter.look(None, mono_ns=1001 * MS) == {"a": 0}
    assert meter.unclaimed_ns == 100 * MS


def test_a_pid_belongs_to_who_has_it_now() -> None:
    meter = metered(a=[10], b=[])
    meter.claim({"a": [], "b": [10]}, mono_ns=2 * MS)
    meter.fold([Sample(10, START_US + 100_000, 1000)], since_us=START_US)
    assert meter.look({10: 5 * MIB}, mono_ns=501 * MS) == {"a": 0, "b": 100 * MS}
    assert meter.slices["b"].memory_of == {10: 5 * MIB}


def test_memory_is_what_the_driver_lists_and_its_peak_stays() -> None:
    meter = metered(a=[10, 11])
    meter.look({10: 300 * MIB, 11: 50 * MIB, 99: 9 * MIB}, mono_ns=501 * MS)
    meter.look({10: 100 * MIB, 11: None}, mono_ns=1001 * MS)
    counters = meter.counters("a")
    assert counters is not None
    assert (counters.memory_bytes, counters.peak_bytes) == (100 * MIB, 350 * MIB)
    meter.look(None, mono_ns=1501 * MS)  # a list that cannot be had is not an empty one
    assert meter.slices["a"].memory_bytes == 100 * MIB


def test_a_total_goes_on_where_another_agent_stopped() -> None:
    meter = CardMeter(since_us=START_US)
    meter.begin("a", busy_ns=7 * MS)
    meter.begin("a", busy_ns=0)
    assert meter.slices["a"].busy_ns == 7 * MS


def test_nobody_is_asked_about_longer_than_a_second() -> None:
    meter = CardMeter()
    assert meter.question(wall_us=START_US) == START_US - LONGEST_QUESTION_US
    meter.fold([], since_us=meter.since_us)
    assert meter.question(wall_us=START_US + 50_000) == START_US + 50_000 - LONGEST_QUESTION_US


def test_a_driver_that_does_not_sample_says_nothing_of_idle_time() -> None:
    meter = metered(a=[10])
    meter.fold(None, since_us=START_US)
    meter.look({}, mono_ns=501 * MS)
    assert meter.slices["a"].whole_ns == 0
    meter.fold([], since_us=START_US)
    meter.look({}, mono_ns=1001 * MS)
    assert (meter.slices["a"].idle_ns, meter.slices["a"].whole_ns) == (500 * MS, 500 * MS)


samples = st.builds(Sample, st.integers(1, 4), st.integers(0, 2**62), st.integers(-100, 5000))


@given(st.lists(st.lists(samples, max_size=6), max_size=10))
def test_all_time_is_somebodys_or_nobodys_and_none_is_negative(looks: list[list[Sample]]) -> None:
    meter = metered(a=[1], b=[2])
    for number, found in enumerate(looks):
        meter.fold(found, since_us=meter.since_us)
        had = meter.look({}, mono_ns=(number + 2) * 500 * MS)
        assert all(ns >= 0 for ns in had.values())
    assert meter.busy_ns == sum(one.busy_ns for one in meter.slices.values()) + meter.unclaimed_ns


def test_a_wall_clock_set_back_an_hour_hides_no_use() -> None:
    meter = metered(a=[10])
    meter.fold([Sample(10, START_US + 100_000, 1000)], since_us=START_US)
    back_us = START_US - 3600 * SECOND_US
    since_us = meter.question(wall_us=back_us)
    assert since_us == back_us
    meter.fold([Sample(10, back_us + 100_000, 1000)], since_us=since_us)
    assert meter.look({}, mono_ns=501 * MS) == {"a": 200 * MS}


def test_a_wall_clock_set_forward_an_hour_is_no_hour_of_use() -> None:
    meter = metered(a=[10])
    ahead_us = START_US + 3600 * SECOND_US
    since_us = meter.question(wall_us=ahead_us)
    meter.fold([Sample(10, ahead_us, 1000)], since_us=since_us)
    assert meter.look({}, mono_ns=501 * MS) == {"a": LONGEST_QUESTION_US * US}
