"""Where the same work costs least: grams of CO2, milliseconds; and what the plain policies make of a place."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.fleet import Ask, Fleet, Machine, Site
from allocator.engine.policies import POLICIES
from allocator.engine.score import Scored, rank
from tests.allocator.engine.strategies import make_ask, make_card

NORTH = Site(name="north", pue_permille=1100, carbon_g_per_kwh=50, latency_ms={"south": 40})
SOUTH = Site(name="south", pue_permille=1500, carbon_g_per_kwh=400)
DARK = Site(name="dark")


def at(*places: tuple[str, int | None], sites: tuple[Site, ...] = (NORTH, SOUTH, DARK)) -> Fleet:
    """A node of one card at each (site, W)."""
    cards = [replace(make_card(number), power_w=watts) for number, (_, watts) in enumerate(places, start=1)]
    machines = [Machine(node_id=UUID(int=number), site=site) for number, (site, _) in enumerate(places, start=1)]
    return Fleet.of(cards, machines, sites)


def ranked(fleet: Fleet, ask: Ask, policy: str) -> list[Scored]:
    return rank(fleet, ask, policy=policy, limit=9)


def terms(found: list[Scored], *names: str) -> dict[int, tuple[int, ...]]:
    return {one.card.device_id.int: tuple(one.terms.get(name, 0) for name in names) for one in found}


def test_the_carbon_of_an_hour_is_power_by_pue_by_the_grid() -> None:
    found = ranked(at(("south", 400), ("north", 400), ("north", 700)), make_ask(permille=500, mib=50), "carbon")
    # 0.4 kW x half x 1.1 x 50 g = 11 g; 0.7 kW: 19.25 g; 0.4 kW x half x 1.5 x 400 g = 120 g; in tenths.
    assert [one.card.device_id.int for one in found] == [2, 3, 1]
    assert terms(found, "carbon", "carbon_assumed", "used") == {1: (-1200, 0, 50), 2: (-110, 0, 50), 3: (-192, 0, 50)}


def test_what_is_not_told_is_the_median_and_called_assumed() -> None:
    found = ranked(at(("south", 400), ("north", None), ("dark", 400)), make_ask(permille=500, mib=50), "carbon")
    assert terms(found, "carbon", "carbon_assumed") == {1: (-1200, 0), 2: (0, -110), 3: (0, -110)}
    nobody = ranked(at(("dark", None), ("", 300), sites=()), make_ask(), "carbon")
    assert {values[:2] for values in terms(nobody, "carbon", "carbon_assumed").values()} == {(0, 0)}


def test_carbon_falls_and_allocation_does_not() -> None:
    """As many fit as by any other policy: the score orders places, it refuses none."""
    fleet = at(*[("south", 400)] * 3, *[("north", 400)] * 3)
    for policy in POLICIES:
        assert len(ranked(fleet, make_ask(permille=1000, mib=100, whole=True), policy)) == 6
    first_three = ranked(fleet, make_ask(permille=1000, mib=100, whole=True), "carbon")[:3]
    assert {one.card.device_id.int for one in first_three} == {4, 5, 6}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_near_a_place_is_a_term_of_every_policy(policy: str) -> None:
    fleet = at(("north", 1), ("south", 1), ("dark", 1), ("north", 1))
    near = ranked(fleet, replace(make_ask(), near="south"), policy)
    assert terms(near, "latency") == {1: (-200,), 2: (0,), 3: (-200,), 4: (-200,)}
    assert "latency" not in ranked(fleet, make_ask(), policy)[0].terms
    nowhere = ranked(fleet, replace(make_ask(), near="the moon"), policy)
    assert set(terms(nowhere, "latency").values()) == {(-500,)}


def test_several_devices_have_their_terms_once() -> None:
    cards = [replace(make_card(number), node_id=UUID(int=1), power_w=400) for number in range(3)]
    fleet = Fleet.of(cards, [Machine(node_id=UUID(int=1), site="north")], [NORTH])
    two = replace(make_ask(permille=1000, mib=100, whole=True), devices=2, near="south")
    assert terms(ranked(fleet, two, "carbon"), "carbon", "latency") == {0: (-440, -200)}


@pytest.mark.parametrize("policy", sorted(POLICIES))
@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from(["north", "south", "dark", ""]), st.sampled_from([None, 300])), max_size=5),
    st.sampled_from([None, "south"]), st.integers(0, 2), st.booleans(),
)  # fmt: skip
def test_terms_add_up_and_the_order_is_that_of_the_scores(
    policy: str, places: list[tuple[str, int | None]], near: str | None, devices: int, whole: bool
) -> None:
    ask = replace(make_ask(whole=whole), near=near, devices=devices)
    fleet = at(*places)
    if devices == 0:
        return
    found = ranked(fleet, ask, policy)
    assert len(found) == (len(places) if devices == 1 else 0)
    assert all(one.score == sum(one.terms.values()) for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    backwards = Fleet.of(reversed(fleet.cards), reversed(fleet.machines), reversed(fleet.sites))
    assert ranked(backwards, ask, policy) == found


def test_a_latency_told_by_either_end_counts() -> None:
    other_end = (replace(NORTH, latency_ms={}), replace(SOUTH, latency_ms={"north": 40}), DARK)
    fleet = at(("north", 1), ("south", 1), sites=other_end)
    assert terms(ranked(fleet, replace(make_ask(), near="south"), "spread"), "latency") == {1: (-200,), 2: (0,)}
