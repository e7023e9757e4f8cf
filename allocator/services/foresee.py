"""How much compute will be leased, by pool and kind of device."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Sum
from psycopg.types.range import TimestamptzRange

from allocator.engine import forecast as engine
from allocator.models import Device, Segment
from allocator.selectors.devices import devices
from vxpu.foresight import DemandView

HOUR = timedelta(hours=1)
# So much of the past is looked at: four weeks, and a day to test on.
HISTORY = timedelta(days=29)

Key = tuple[str, str]


def forecast_demand(*, now: datetime, hours: int, risk_permille: int) -> list[DemandView]:
    """By pool ("" is of none) and kind; whole hours from the one that has begun. History is from the first lease on."""
    starts_at = now.replace(minute=0, second=0, microsecond=0)
    series = _hourly(until=starts_at)
    found: dict[Key, int] = {}
    rows = Device.objects.filter(pk__in=devices().values("pk")).values("node__pool__name", "kind")
    for row in rows.annotate(permille=Sum("capacity_permille")).order_by("node__pool__name", "kind"):
        found[row["node__pool__name"] or "", row["kind"]] = row["permille"]
    return [
        _view(key, series.get(key, []), capacity, starts_at=starts_at, hours=hours, risk_permille=risk_permille)
        for key, capacity in sorted(found.items())
    ]


def _view(
    key: Key, past: list[float], capacity: int, *, starts_at: datetime, hours: int, risk_permille: int
) -> DemandView:
    made = engine.forecast(past, ahead=hours)
    score, base = made.scores.get(made.model), made.scores.get(engine.BASELINE)
    spot = engine.quota_of(made, capacity=capacity, risk_permille=risk_permille)
    return DemandView(
        pool=key[0], kind=key[1], hours=len(past), model=made.model, is_tested=made.is_tested,
        mae=None if score is None else score.mae, mase=None if score is None else score.mase,
        baseline_mae=None if base is None else base.mae, capacity_permille=capacity, starts_at=starts_at,
        values=tuple(round(value) for value in made.values), spot=tuple(int(value) for value in spot),
    )  # fmt: skip


def _hourly(*, until: datetime) -> dict[Key, list[float]]:
    """Mean leased permille of each past hour, oldest first, from the hour of the first lease on."""
    hours, begin = HISTORY // HOUR, until - HISTORY
    taken: dict[Key, np.ndarray[tuple[int], np.dtype[np.float64]]] = defaultdict(lambda: np.zeros(hours))
    rows = Segment.objects.filter(period__overlap=TimestamptzRange(begin, until), period__isempty=False)
    columns = rows.values_list("device__node__pool__name", "device__kind", "permille", "period")
    for pool, kind, permille, period in columns.iterator(chunk_size=5_000):
        first = (max(period.lower, begin) - begin) / HOUR
        last = (min(period.upper or until, until) - begin) / HOUR
        edges = np.clip(np.arange(int(first), int(np.ceil(last)) + 1, dtype=np.float64), first, last)
        taken[pool or "", kind][int(first) : int(np.ceil(last))] += permille * np.diff(edges)
    return {key: _known(values) for key, values in taken.items()}


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Without the hours before there was any."""
    some = np.flatnonzero(values)
    return [] if not len(some) else [float(value) for value in values[some[0] :]]
