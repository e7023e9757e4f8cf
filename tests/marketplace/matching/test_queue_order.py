"""The order of the queue: total, deterministic, fair over time, and nobody waits for ever."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.matching.half_life import STEP_S, forget, step_factor
from marketplace.matching.queue_order import Entry, Rules, Share, Urgency, band_of, order

HOUR = 3600
NOW = 1_800_000_000
RULES = Rules(elder_s=12 * HOUR, age_s=4 * HOUR, total_permille=8000, total_mib=64 * 1024)
COHORTS, TENANTS = [UUID(int=900 + n) for n in range(2)], [UUID(int=100 + n) for n in range(4)]


def entry(number: int, tenant: int = 0, *, waited: int = 0, **over: Any) -> Entry:
    path = (COHORTS[tenant % 2], TENANTS[tenant])
    wanted: dict[str, Any] = {
        "id": UUID(int=number), "path": path, "urgency": Urgency.NORMAL, "asked_at": NOW - waited,
        "permille_s": 1000 * HOUR, "mib_s": 8192 * HOUR, **over,
    }  # fmt: skip
    return Entry(**wanted)


def line(entries: list[Entry], shares: dict[UUID, Share] | None = None, *, now: int = NOW) -> list[int]:
    return [one.id.int for one in order(entries, shares=shares or {}, rules=RULES, now=now)]


entries = st.lists(
    st.builds(
        entry,
        st.integers(1, 10_000),
        st.integers(0, 3),
        waited=st.integers(0, 24 * HOUR),
        urgency=st.sampled_from(list(Urgency)),
        permille_s=st.integers(0, 10**7),
    ),
    unique_by=lambda one: one.id,
    max_size=25,
)
shares = st.dictionaries(
    st.sampled_from([*COHORTS, *TENANTS]),
    st.builds(Share, weight=st.integers(1, 9), permille_s=st.integers(0, 10**9), mib_s=st.integers(0, 10**10)),
)


@given(entries, shares, st.randoms(use_true_random=False))
def test_the_order_is_total_and_the_same_however_it_is_told(found: list[Entry], used: Any, dice: Any) -> None:
    first = line(found, used)
    assert sorted(first) == sorted(one.id.int for one in found)
    dice.shuffle(found)
    assert line(found, used) == first


@given(entries, shares)
def test_classes_come_one_after_the_other(found: list[Entry], used: Any) -> None:
    bands = [band_of(one, rules=RULES, now=NOW) for one in order(found, shares=used, rules=RULES, now=NOW)]
    assert bands == sorted(bands)


@given(entries, shares, st.integers(0, 4 * HOUR))
def test_nobody_waits_for_ever(found: list[Entry], used: Any, later: int) -> None:
    """From the elders' age on only those that asked before are ahead, whatever has come since."""
    mine = entry(99_999, urgency=Urgency.LOW)
    then = NOW + RULES.elder_s + later
    ahead = line([*found, mine], used, now=then)
    before = ahead[: ahead.index(99_999)]
    assert set(before) <= {one.id.int for one in found if one.asked_at <= mine.asked_at}


def test_urgent_goes_first_and_a_low_wish_ages_to_normal_and_no_further() -> None:
    urgent, normal = entry(1, urgency=Urgency.URGENT), entry(2, 1, waited=60)
    low, old = entry(3, 3, urgency=Urgency.LOW, waited=60), entry(4, 3, urgency=Urgency.LOW, waited=5 * HOUR)
    assert line([low, normal, urgent])[0] == 1
    assert line([low, normal, old, urgent]) == [1, 4, 2, 3]


def test_who_used_little_comes_first_and_use_is_forgotten() -> None:
    a, b = entry(1, 0, waited=60), entry(2, 1)
    used = Share(permille_s=8000 * HOUR)
    assert line([a, b]) == [1, 2]
    assert line([a, b], {TENANTS[0]: used, COHORTS[0]: used}) == [2, 1]
    factor = step_factor(HOUR)
    faded = forget(used.permille_s, held=[0] * (HOUR // STEP_S), factor=factor)
    assert faded == pytest.approx(used.permille_s / 2, rel=1e-6)


def test_a_thousand_wishes_of_one_tenant_take_turns_with_two_of_another() -> None:
    many = [entry(number, 0, waited=HOUR) for number in range(100)]
    few = [entry(number, 1) for number in (500, 501)]
    assert max(line([*many, *few]).index(500), line([*many, *few]).index(501)) <= 4


def test_the_larger_of_compute_and_memory_counts() -> None:
    lean = entry(1, 0, waited=60, permille_s=1, mib_s=64 * 1024 * HOUR)
    more = entry(2, 0, waited=30, permille_s=1, mib_s=1)
    other = entry(3, 1, permille_s=4000 * HOUR, mib_s=1)
    assert line([lean, more, other]) == [1, 3, 2]


def served(weights: list[int], rounds: int) -> Counter[int]:
    """Everybody always has a wish in line; each round the first is served, and use fades with a half-life."""
    factor, used, found = step_factor(100 * STEP_S), [0] * len(weights), Counter[int]()
    for _ in range(rounds):
        shares = {TENANTS[n]: Share(weight=weight, permille_s=used[n]) for n, weight in enumerate(weights)}
        wishes = [replace(entry(n + 1, n), path=(TENANTS[n],)) for n in range(len(weights))]
        first = line(wishes, shares)[0] - 1
        found[first] += 1
        used = [forget(use, held=[wishes[0].permille_s * (n == first)], factor=factor) for n, use in enumerate(used)]
    return found


def test_who_always_asks_gets_by_weight() -> None:
    found = served([1, 2, 3], 600)
    assert [found[n] for n in range(3)] == [pytest.approx(part, abs=6) for part in (100, 200, 300)]


@given(st.integers(0, 10**12), st.lists(st.integers(0, 10**9), max_size=20), st.integers(0, 20))
def test_use_does_not_depend_on_how_often_it_was_brought_up(use: int, held: list[int], cut: int) -> None:
    factor = step_factor(7 * 24 * HOUR)
    once = forget(use, held=held, factor=factor)
    assert forget(forget(use, held=held[:cut], factor=factor), held=held[cut:], factor=factor) == once
