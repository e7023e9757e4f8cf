"""Terms that every policy's score gets, where there is something to tell: the devices' health, the way to a place.

They are added by the ranker, so no policy copies them, and no policy forgets them.
"""

from __future__ import annotations

from statistics import median_low

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags, Layout
from allocator.engine.view import View

# Points for each of the hundred points of health that are missing, and for each millisecond of a round trip.
HEALTH = 5
LATENCY = 5
FAR_MS, ASSUMED_MS = 400, 100


def added_terms(view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
    """By name, as in `Policy.terms`; empty where nothing is known."""
    terms: dict[str, Ints] = {}
    if view.layout.tells_health and ask.devices:
        terms["health"] = _health(view.layout, ask, rows, fits)
    if ask.near is not None:
        wide = fits.shape[1] if ask.devices == 1 else 1
        terms["latency"] = np.repeat(-LATENCY * latencies(view.layout, ask.near)[rows][:, None], wide, axis=1)
    return terms


def _health(layout: Layout, ask: Ask, rows: Ints, fits: Flags) -> Ints:
    """0 to -500. An unknown health is neither good nor bad: the median of the known ones."""
    known = layout.keep("health", lambda: _with_median(layout))
    missing: Ints = HEALTH * (known[rows] - 100)
    if ask.devices == 1:
        return missing
    mean: Ints = (missing * fits).sum(axis=1, keepdims=True) // np.maximum(fits.sum(axis=1, keepdims=True), 1)
    return mean


def _with_median(layout: Layout) -> Ints:
    usual = median_low(layout.health[layout.health >= 0].tolist())
    found: Ints = np.where(layout.health < 0, usual, layout.health)
    return found


def latencies(layout: Layout, near: str) -> Ints:
    """(rows,): milliseconds from each node's site to a place, FAR_MS at most; 0 at the place itself.

    Told by either end. A site of which nothing is told has the median of the others, or ASSUMED_MS: no place is near
    because nobody measured.
    """
    return layout.keep(("latency", near), lambda: _latencies(layout, near))


def _latencies(layout: Layout, near: str) -> Ints:
    there = layout.sites.get(near)
    told = {} if there is None else dict(there.latency_ms)
    told |= {name: site.latency_ms[near] for name, site in layout.sites.items() if near in site.latency_ms}
    names = sorted({machine.site for machine in layout.machines} & told.keys() - {near})
    usual = median_low([min(told[name], FAR_MS) for name in names]) if names else ASSUMED_MS
    told[near] = 0
    return np.array([min(told.get(machine.site, usual), FAR_MS) for machine in layout.machines], np.int64)
