"""Hourly demand a day ahead, by the model that a rolling back-test of the series itself chooses.

The measure to beat is the seasonal naive forecast (the same hour a week ago, Hyndman and Athanasopoulos 2021, 5.2): a
model whose back-test error is not lower is off for that series. Errors are mean absolute errors over forecasts that
were made at midnight boundaries of the past, each with what was known then, and MASE, the same in units of the naive
error within the known past. No model here has a parameter that is fitted on what it is judged by, but for the smoothing
weights, which are chosen on the part before the test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Model = Callable[[Floats, int], Floats]

DAY, WEEK = 24, 168
AHEAD = 24
# Back-tests: so many days before the end; and the least history that a test stands on.
FOLDS = 14
LEAST = WEEK + DAY
BASELINE = "seasonal_naive"
WEIGHTS = (0.1, 0.3, 0.6)


class Score(NamedTuple):
    """Of one model on one series. `mase` None: the naive error of the past is zero."""

    mae: float
    mase: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """`values` for the hours ahead. `scores` of each model that could be tested, empty if the series is too short: then
    `model` is a stand-in without any promise. `errors` are what fell short (demand above the forecast is positive) in
    the back-tests of the chosen model, over all hours ahead."""

    values: tuple[float, ...]
    model: str
    scores: Mapping[str, Score]
    errors: tuple[float, ...]

    @property
    def is_tested(self) -> bool:
        return bool(self.scores)


def seasonal_naive(past: Floats, ahead: int) -> Floats:
    """The same hour a week ago."""
    season = past[-WEEK:] if len(past) >= WEEK else past[-DAY:]
    return np.resize(season, ahead)


def hourly_median(past: Floats, ahead: int) -> Floats:
    """The median of the hour of the day over seven days, moved to the level of the last day."""
    days = past[-7 * DAY :]
    days = days[len(days) % DAY :].reshape(-1, DAY)
    profile = np.median(days, axis=0)
    level = float(np.median(days[-1] - profile))
    return np.resize(profile + level, ahead)


def smoothing(past: Floats, ahead: int) -> Floats:
    """Simple exponential smoothing: flat, from the weight that foresaw the past best."""
    best = min(WEIGHTS, key=lambda weight: float(np.abs(past[1:] - _levels(past, weight)[:-1]).mean()))
    return np.full(ahead, _levels(past, best)[-1])


def holt_winters(past: Floats, ahead: int) -> Floats:
    """Level, trend that fades, and a season of a day, additive (Winters 1960; the damping is Gardner's)."""
    alpha, beta, gamma, damping = 0.2, 0.02, 0.2, 0.9
    season = past[:DAY] - past[:DAY].mean()
    level, trend = float(past[:DAY].mean()), 0.0
    for at, value in enumerate(past[DAY:].tolist()):
        old = level
        part = season[at % DAY]
        level = alpha * (value - part) + (1.0 - alpha) * (level + damping * trend)
        trend = beta * (level - old) + (1.0 - beta) * damping * trend
        season[at % DAY] = gamma * (value - level) + (1.0 - gamma) * part
    steps = np.arange(1, ahead + 1)
    fades = damping * (1.0 - damping**steps) / (1.0 - damping)
    start = (len(past) - DAY) % DAY
    found: Floats = level + trend * fades + season[(start + steps - 1) % DAY]
    return found


MODELS: Mapping[str, Model] = {
    BASELINE: seasonal_naive,
    "hourly_median": hourly_median,
    "smoothing": smoothing,
    "holt_winters": holt_winters,
}


def forecast(series: Sequence[float], *, ahead: int = AHEAD) -> Forecast:
    """Never below zero. A series that is shorter than `LEAST` hours gets its last day again (or nothing: zeros)."""
    past = np.asarray(series, np.float64)
    if past.ndim != 1 or not np.isfinite(past).all() or (past < 0).any():
        raise ValueError("a demand series is one row of finite numbers, none below zero")
    if len(past) < LEAST:
        values = np.resize(past[-DAY:], ahead) if len(past) else np.zeros(ahead)
        return Forecast(tuple(values.tolist()), "last_day", {}, ())
    errors = {name: _back_test(past, model, ahead) for name, model in MODELS.items()}
    scale = float(np.abs(past[WEEK:] - past[:-WEEK]).mean())
    scores = {name: _score(found, scale) for name, found in errors.items()}
    chosen = min(MODELS, key=lambda name: (scores[name].mae, name != BASELINE, name))
    values = np.maximum(0.0, MODELS[chosen](past, ahead))
    return Forecast(tuple(values.tolist()), chosen, scores, tuple(errors[chosen].ravel().tolist()))


def spot_quota(
    series: Sequence[float], *, capacity: float, risk_permille: int, ahead: int = AHEAD
) -> tuple[float, ...]:
    """`quota_of` the series' forecast."""
    return quota_of(forecast(series, ahead=ahead), capacity=capacity, risk_permille=risk_permille)


def quota_of(made: Forecast, *, capacity: float, risk_permille: int) -> tuple[float, ...]:
    """What may be sold as spot in each hour ahead, so that demand with a right to the capacity takes it back in at most
    so many of a thousand hours, if the future errs as the back-tests did. Nothing before there are back-tests."""
    if not 0 <= risk_permille <= 1000:
        raise ValueError(f"a risk of {risk_permille} permille")
    if not made.is_tested:
        return (0.0,) * len(made.values)
    margin = float(np.quantile(np.array(made.errors), 1.0 - risk_permille / 1000.0, method="higher"))
    return tuple(max(0.0, min(capacity, capacity - value - margin)) for value in made.values)


def _levels(past: Floats, weight: float) -> Floats:
    levels = np.empty_like(past)
    level = float(past[0])
    for at, value in enumerate(past.tolist()):
        level += weight * (value - level)
        levels[at] = level
    return levels


def _back_test(past: Floats, model: Model, ahead: int) -> Floats:
    """(folds, ahead): demand less forecast, made a day apart, the last one with `ahead` hours to go; oldest first."""
    folds = min(FOLDS, (len(past) - ahead - WEEK) // DAY + 1)
    cuts = [len(past) - ahead - DAY * fold for fold in range(max(1, folds))]
    return np.array([past[cut : cut + ahead] - np.maximum(0.0, model(past[:cut], ahead)) for cut in reversed(cuts)])


def _score(errors: Floats, scale: float) -> Score:
    mae = float(np.abs(errors).mean())
    return Score(mae, mae / scale if scale > 0 else None)
