"""Twelve metrics, the worst of them counts, and what is unknown counts neither way."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fit import refusal
from allocator.engine.fleet import Fleet
from allocator.engine.health import METRICS, health, is_unhealthy, score_of
from allocator.engine.policies import POLICIES
from allocator.engine.score import rank
from tests.allocator.engine.strategies import make_ask, make_card

BUSY = {"utilization_permille": 900}
READINGS = sorted({name for metric in METRICS for name in (metric.name, *metric.beside)})


@pytest.mark.parametrize(
    ("metric", "values", "score"),
    [
        ("temperature_c", {"temperature_c": 75}, 100), ("temperature_c", {"temperature_c": 90}, 40),
        ("memory_temperature_c", {"memory_temperature_c": 95}, 50),
        ("power_mw", {"power_mw": 1030, "power_limit_mw": 1000}, 100),
        ("power_mw", {"power_mw": 9, "power_limit_mw": 0}, None),
        ("throttle_reasons", {"throttle_reasons": 0x4}, 100), ("throttle_reasons", {"throttle_reasons": 0x28}, 40),
        ("ecc_corrected", {"ecc_corrected": 1_000}, 70), ("ecc_uncorrected", {"ecc_uncorrected": 1}, 20),
        ("memory_repairs", {"memory_repairs": 0, "memory_repair_pending": 1}, 50),
        ("memory_repairs", {"memory_repairs": 1, "memory_repair_failed": 1}, 0),
        ("xid_last", {"xid_last": 79}, 0), ("xid_last", {"xid_last": 13}, 100), ("xid_last", {"xid_last": None}, None),
        ("pcie_width", {"pcie_width": 8, "pcie_width_max": 16}, 60),
        ("pcie_width", {"pcie_generation": 1, "pcie_generation_max": 4}, None),
        ("pcie_width", {"pcie_generation": 1, "pcie_generation_max": 4, **BUSY}, 40),
        ("nvlink_errors", {"nvlink_errors": 0}, 100), ("nvlink_errors", {"nvlink_errors": 10**9}, 30),
        ("memory_largest_free_mib", {"memory_largest_free_mib": 40, "memory_free_mib": 100}, 80),
        ("sm_clock_mhz", {"sm_clock_mhz": 600, "sm_clock_max_mhz": 2000}, None),
        ("sm_clock_mhz", {"sm_clock_mhz": 600, "sm_clock_max_mhz": 2000, **BUSY}, 30),
        ("sm_clock_mhz", {"fan_permille": 1000}, 70), ("no_such_metric", {"no_such_metric": 1}, None),
    ],
)  # fmt: skip
def test_the_curves(metric: str, values: dict[str, int | None], score: int | None) -> None:
    assert score_of(metric, values) == score


@given(st.dictionaries(st.sampled_from(READINGS), st.one_of(st.none(), st.integers(0, 10**6))))
def test_a_score_is_the_worst_of_twelve_and_the_unknown_changes_none(values: dict[str, int | None]) -> None:
    assert len(METRICS) == 12
    scores = [score for metric in METRICS if (score := score_of(metric.name, values)) is not None]
    assert all(0 <= score <= 100 for score in scores)
    assert health(values) == min(scores, default=None)
    assert health(values) == health({name: value for name, value in values.items() if value is not None})


def test_below_the_floor_nothing_is_placed_and_the_unknown_is_not_below() -> None:
    assert [is_unhealthy(score, floor=20) for score in (None, 0, 19, 20)] == [False, True, True, False]
    ill = replace(make_card(1), health=10, unhealthy=True)
    assert refusal(ill, make_ask()) == "unhealthy"
    assert Draft.of(Fleet.of([ill])).view(0, 9).counts(make_ask()) == {"unhealthy": 1}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_prefers_the_healthier_of_two_that_are_alike(policy: str) -> None:
    cards = [replace(make_card(1), health=60), replace(make_card(2), health=90), replace(make_card(3), health=None)]
    found = rank(Fleet.of(cards), make_ask(), policy=policy, limit=3)
    assert [(one.card.device_id.int, one.terms["health"]) for one in found] == [(2, -50), (1, -200), (3, -200)]
    assert all(one.score == sum(one.terms.values()) for one in found)
    assert "health" not in rank(Fleet.of([make_card(1)]), make_ask(), policy=policy, limit=1)[0].terms


def test_several_devices_count_with_their_mean() -> None:
    cards = [replace(make_card(number), node_id=UUID(int=1), health=80 + number) for number in range(2)]
    found = rank(Fleet.of(cards), replace(make_ask(), devices=2), policy="spread", limit=1)
    assert found[0].terms["health"] == -98
