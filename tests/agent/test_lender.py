"""Idle time of a card and who gets it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.lender import Demand, idle_permille, lend


def demand(share: int, *, waits: bool = True, weight: int | None = None, **over: int | bool) -> Demand:
    return Demand(share, share if weight is None else weight, waits, **over)  # type: ignore[arg-type]


demands = st.builds(
    Demand,
    share_permille=st.integers(0, 1000),
    weight=st.integers(0, 1000),
    waits=st.booleans(),
    used_permille=st.integers(-10, 5000),
    priority=st.integers(0, 3),
    work_conserving=st.booleans(),
)


def test_idle_time_goes_by_weight_among_those_who_wait() -> None:
    assert lend([demand(100), demand(300), demand(600, waits=False)], idle_permille=400) == [100, 300, 0]


def test_the_higher_class_is_served_first() -> None:
    assert lend([demand(300), demand(300, priority=2)], idle_permille=400) == [0, 400]
    assert lend([demand(300), demand(700, priority=2)], idle_permille=400) == [100, 300]


def test_what_one_cannot_take_goes_to_the_others() -> None:
    assert lend([demand(900), demand(50, weight=100)], idle_permille=500) == [100, 400]


def test_hard_mode_lends_nothing() -> None:
    assert lend([demand(250, work_conserving=False), demand(250)], idle_permille=400) == [0, 400]


def test_who_waits_is_counted_with_its_whole_share_and_who_does_not_with_what_it_took() -> None:
    cast = [demand(250), demand(500, waits=False, used_permille=100), demand(100, waits=False, used_permille=900)]
    assert idle_permille(cast) == 1000 - 250 - 100 - 100
    assert idle_permille([]) == 1000


@given(st.lists(demands, max_size=12), st.integers(-100, 3000))
def test_never_more_than_is_idle_and_never_more_than_a_card(cast: list[Demand], idle: int) -> None:
    loans = lend(cast, idle_permille=idle)
    assert sum(loans) <= max(0, min(1000, idle))
    for one, loan in zip(cast, loans, strict=True):
        assert 0 <= loan <= one.room_permille


@given(st.lists(demands, min_size=1, max_size=12), st.integers(0, 1000))
def test_nothing_stays_idle_while_someone_who_waits_has_room(cast: list[Demand], idle: int) -> None:
    loans = lend(cast, idle_permille=idle)
    room = sum(one.room_permille for one in cast)
    assert sum(loans) == min(idle, room)


@given(st.lists(demands, min_size=1, max_size=12), st.integers(0, 1000))
def test_a_lower_class_gets_something_only_when_the_higher_one_is_full(cast: list[Demand], idle: int) -> None:
    loans = lend(cast, idle_permille=idle)
    lowest_served = min((one.priority for one, loan in zip(cast, loans, strict=True) if loan), default=9)
    assert all(loan == one.room_permille for one, loan in zip(cast, loans, strict=True) if one.priority > lowest_served)


@given(st.lists(demands, max_size=12))
def test_what_is_idle_was_somebodys_share_or_nobodys(cast: list[Demand]) -> None:
    assert 0 <= idle_permille(cast) <= 1000
