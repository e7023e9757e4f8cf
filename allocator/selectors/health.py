"""A device's health as it may be shown: the score, and what it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from allocator.engine.health import METRICS, score_of
from vxpu.states import Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthView:
    """`metrics` maps a reading's name to {value, at, quality, score}; what is too old has quality `stale`, no score."""

    score: int | None
    metrics: Mapping[str, Mapping[str, object]]


def fresh_for() -> timedelta:
    """A reading that is older is stale: it is not shown as of now."""
    return timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)


def health_of(readings: Mapping[str, Any], *, now: datetime) -> HealthView:
    """From readings {value, at, quality} by name; `at` as text, as they came."""
    fresh = {name: reading["value"] for name, reading in readings.items() if not _is_stale(reading, now)}
    metrics = {
        metric.name: _metric(readings[metric.name], score_of(metric.name, fresh), now)
        for metric in METRICS
        if metric.name in readings
    }
    scores = [score for metric in metrics.values() if isinstance(score := metric["score"], int)]
    return HealthView(score=min(scores, default=None), metrics=metrics)


def _is_stale(reading: Mapping[str, Any], now: datetime) -> bool:
    at = reading["at"]
    return at is not None and now - datetime.fromisoformat(at) > fresh_for()


def _metric(reading: Mapping[str, Any], score: int | None, now: datetime) -> Mapping[str, object]:
    quality = Quality.STALE.value if _is_stale(reading, now) else reading["quality"]
    return {"value": reading["value"], "at": reading["at"], "quality": quality, "score": score}
