"""Forecasts: each model where it belongs, the naive one where nothing is better, and quotas that keep their risk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.forecast import AHEAD, BASELINE, DAY, LEAST, MODELS, WEEK, forecast, spot_quota

WEEKS = 5


def weekly(rng: np.random.Generator, *, noise: float = 0.0) -> list[float]:
    """Busy days, quiet nights and quiet week-ends: the same each week, but for the noise."""
    hours = np.arange(WEEKS * WEEK)
    day = 1000 + 600 * np.sin(2 * np.pi * hours / DAY)
    day[(hours // DAY) % 7 >= 5] *= 0.3
    found: list[float] = np.maximum(0, day + noise * rng.standard_normal(len(hours))).tolist()
    return found


def test_what_repeats_by_the_week_is_foreseen_exactly() -> None:
    series = weekly(np.random.default_rng(1))
    found = forecast(series)
    assert found.model == BASELINE
    assert found.scores[BASELINE].mae == pytest.approx(0, abs=1e-6)
    assert found.values == pytest.approx(series[-WEEK : -WEEK + AHEAD])


def test_noise_around_a_level_is_not_copied_from_last_week() -> None:
    series = (1000 + 100 * np.random.default_rng(2).standard_normal(WEEKS * WEEK)).tolist()
    found = forecast(series)
    assert found.model != BASELINE
    assert found.scores[found.model].mae < found.scores[BASELINE].mae
    assert found.values == pytest.approx([1000] * AHEAD, abs=100)


def test_a_level_that_changed_is_followed() -> None:
    hours = np.arange(WEEKS * WEEK)
    series = 500 + 200 * np.sin(2 * np.pi * hours / DAY) + 20 * hours / DAY
    found = forecast(series.tolist())
    assert found.model in {"hourly_median", "holt_winters"}
    assert max(abs(np.array(found.values) - (series[-DAY:] + 20))) < 40


@pytest.mark.parametrize("series", [[], [5.0], [1.0] * (LEAST - 1)])
def test_a_short_series_is_not_tested_and_nothing_is_sold_on_it(series: list[float]) -> None:
    found = forecast(series)
    assert (found.model, found.is_tested, len(found.values)) == ("last_day", False, AHEAD)
    assert found.values == pytest.approx([series[-1] if series else 0.0] * AHEAD)
    assert spot_quota(series, capacity=10, risk_permille=100) == (0.0,) * AHEAD


@pytest.mark.parametrize("hours", [LEAST, LEAST + 5, 3 * WEEK])
def test_a_constant_series_stays(hours: int) -> None:
    found = forecast([7.0] * hours)
    assert found.model == BASELINE
    assert found.scores[BASELINE].mase is None
    assert found.values == pytest.approx([7.0] * AHEAD)
    assert spot_quota([7.0] * hours, capacity=10, risk_permille=0) == pytest.approx([3.0] * AHEAD)


def test_a_quota_keeps_its_risk() -> None:
    """Over 40 days to come, demand takes back sold capacity about as often as was said."""
    rng = np.random.default_rng(3)
    days, broken = 40, 0
    for _ in range(days):
        series = np.array(weekly(rng, noise=80))
        past, came = series[:-DAY], series[-DAY:]
        quota = np.array(spot_quota(past.tolist(), capacity=3000, risk_permille=100))
        broken += int((came + quota > 3000).sum())
    assert broken / (days * DAY) < 0.15


@pytest.mark.parametrize("series", [[-1.0], [float("nan")], [[1.0]]])
def test_what_is_no_demand_is_refused(series: list[float]) -> None:
    with pytest.raises(ValueError, match="demand series"):
        forecast(series)
    with pytest.raises(ValueError, match="risk"):
        spot_quota([], capacity=1, risk_permille=1001)


@given(st.integers(0, 3 * WEEK), st.integers(0, 2**32 - 1))
def test_any_series_has_a_forecast(hours: int, seed: int) -> None:
    series = np.random.default_rng(seed).integers(0, 5, hours).astype(float).tolist()
    found = forecast(series)
    assert len(found.values) == AHEAD
    assert all(value >= 0 for value in found.values)
    assert found.scores.keys() in (set(), MODELS.keys())
    assert not found.scores or found.scores[found.model].mae <= found.scores[BASELINE].mae
    quota = spot_quota(series, capacity=4, risk_permille=50)
    assert all(0 <= hour <= 4 for hour in quota)
