"""What a history teaches the default policy."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.learn import learn
from allocator.engine.lessons import LINEAR, Lessons
from allocator.engine.mix import WHOLE, Mix, Seen, Shape, Supply, shape_of
from tests.allocator.engine.strategies import make_ask

SUPPLY = Supply({"A": 60, "B": 40}, 8_000, 1_000)


def share(permille: int, *, cores: int = 4_000, models: frozenset[str] | None = None, devices: int = 1) -> Shape:
    return Shape(devices, permille, cores, models)


def test_nothing_is_known_of_an_empty_history() -> None:
    found = learn([], SUPPLY)
    assert found == Lessons(cores_per_device=8_000)
    assert found.values == LINEAR


def test_what_no_usual_share_fits_into_is_worth_nothing() -> None:
    found = learn([Seen(share(810), 10_000.0)], SUPPLY)
    assert (found.values[190], found.values[809], found.values[810], found.values[1000]) == (0, 2, 1000, 1000)


def test_two_halves_are_a_device_and_a_tenth_is_a_tenth() -> None:
    found = learn([Seen(share(500), 6_000.0), Seen(share(100), 6_000.0)], SUPPLY)
    assert (found.values[100], found.values[500], found.values[1000]) == (100, 500, 1000)


def test_whole_devices_only_make_a_part_worthless() -> None:
    assert learn([Seen(share(1000, devices=8), 1_000.0)], SUPPLY).values[500:1001:499] == (10, 20)


def test_cores_are_weighed_by_devices() -> None:
    history = [Seen(share(500, cores=4_000), 20_000.0), Seen(share(1000, cores=12_000, devices=4), 10_000.0)]
    assert learn([*history, Seen(Shape(0, 0, 90_000, None), 10_000.0)], SUPPLY).cores_per_device == 4_001


def test_a_model_that_some_insist_on_is_scarce() -> None:
    history = [Seen(share(1000), 70_000.0), Seen(share(1000, models=frozenset("B")), 30_000.0)]
    assert learn(history, SUPPLY).scarcity == {"B": 750}
    assert learn(history[:1], SUPPLY).scarcity == {}


def test_cores_alone_belong_on_small_nodes_if_these_have_them_to_spare() -> None:
    """At 4 cores a device, 100 devices in use: nodes of two have 400 cores to spare, those of eight 160."""
    supply = Supply({"A": 100}, 4_800, 1_000, {(2, 24_000): 25, (8, 48_000): 10})
    used = Seen(share(1000), 100_000.0)
    wanted = {cores: Seen(Shape(0, 0, cores * 1000, None), 100_000.0) for cores in (0, 3, 5)}
    found = {cores: learn([used, one], supply).spare_up_to for cores, one in wanted.items()}
    assert found == {0: 0, 3: 2, 5: 0}
    assert learn([used, wanted[3]], SUPPLY).spare_up_to == 0


def test_the_largest_usual_ask_is_not_the_largest_ever() -> None:
    history = [Seen(share(1000), 90_000.0), Seen(share(1000, devices=4), 100.0), Seen(share(1000, devices=8), 1.0)]
    assert learn(history, SUPPLY).largest == 4
    assert learn(history[:1], SUPPLY).largest == 1


def test_a_model_that_the_fleet_does_not_have_is_no_reason_to_fail() -> None:
    history = [Seen(share(1000, models=frozenset({"Z"})), 5.0)]
    assert learn(history, SUPPLY).scarcity == {}
    assert learn(history, Supply({}, 0, 0)).cores_per_device >= 0


@settings(max_examples=6, deadline=None)
@given(st.dictionaries(st.integers(1, 1000), st.integers(1, 10**6), max_size=12))
def test_the_table_grows_from_nothing_to_a_whole_device(sizes: dict[int, int]) -> None:
    history = [Seen(share(size), float(count)) for size, count in sizes.items()]
    values = learn(history, SUPPLY).values
    assert (values[0], values[WHOLE]) == (0, WHOLE)
    assert all(one <= other for one, other in pairwise(values))
    assert learn(reversed(history), SUPPLY).values == values


def test_lessons_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="3 values"):
        Lessons(values=(0, 1, 2))


def test_an_old_ask_counts_half_after_the_half_life() -> None:
    mix = Mix(half_life=100)
    mix.add(share(810))
    for _ in range(100):
        mix.add(share(470))
    by_share = {shape.share: weight for shape, weight in mix.seen()}
    assert round(by_share[810], 6) == 0.496546


def test_a_huge_history_fades_as_quickly_as_endless_asking() -> None:
    mix = Mix(half_life=100)
    mix.extend([Seen(share(810), 1e9)])
    for _ in range(200):
        mix.add(share(470))
    by_share = {shape.share: weight for shape, weight in mix.seen()}
    assert 0.245 < by_share[810] / sum(by_share.values()) < 0.255


def test_a_mix_never_overflows_and_forgets() -> None:
    mix = Mix(half_life=1)
    for number in range(5_000):
        mix.add(share(1 + number % 7 if number > 4_000 else 900))
    assert {shape.share for shape, _ in mix.seen()} == set(range(1, 8))


def test_the_scarcer_of_compute_and_memory_is_the_size_of_a_share() -> None:
    assert shape_of(make_ask(permille=250, mib=700), 1_000).share == 700
    assert shape_of(make_ask(permille=250, mib=100), 1_000).share == 250
    assert shape_of(make_ask(whole=True), 1_000).share == WHOLE
