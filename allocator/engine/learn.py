"""From a history of asks to what the default policy needs to know: `learn(history, supply) -> Lessons`.

1. The value of what is left of a device: a cutting-stock programme over the share sizes of the history. Its duals say
   what a share of each size is worth in devices when the usual shares are packed as well as can be (Gilmore and Gomory
   1961); r permille are worth the dearest set of shares that fits into them. The mean over several programmes with
   shaken demand, because the duals of one jump when the mix moves a little.
2. Cores per device: of all past asks for devices.
3. Scarcity of models: asks that accept only some models press on those; the pressure on a model is the sum over such
   sets of (share of the demand) / (share of the devices). Only the excess over the least pressed model counts.
4. Up to which size of node there are cores enough to spare for the asks that want cores alone, so that these need not
   sit beside the devices of larger nodes, where they are in the way of asks for many devices; and how many that is.

A short history moves the neutral prior (see `Lessons`) by its weight against `PRIOR_ASKS`. No clock; the shaking has a
seed of its own, so the same history always teaches the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from allocator.engine.lessons import LINEAR, Lessons
from allocator.engine.mix import WHOLE, Seen, Supply

Floats = NDArray[np.float64]

# So many asks weigh as much as knowing nothing.
PRIOR_ASKS = 20.0
PROGRAMMES = 16
# Spread of the shaken demand: sigma of a log-normal factor.
SHAKE = 0.3
# Sizes rarer than this among shares do not count. Sizes are rounded up to the first of these grids on which a device
# can be filled in no more than so many ways: that bounds the programmes.
RARE = 0.0005
GRIDS = (1, 10, 20, 50)
PATTERNS = 2_000
# No model is dearer than this many times its size, in thousandths.
DEAREST = 9_000


def learn(history: Iterable[Seen], supply: Supply) -> Lessons:
    """Deterministic, and bounded in time: `PROGRAMMES` linear programmes of at most `PATTERNS` rows."""
    seen = [one for one in history if one.weight > 0]
    per_device = _cores_per_device(seen, supply)
    return Lessons(
        values=_values(seen), cores_per_device=per_device, scarcity=_scarcity(seen, supply),
        spare_up_to=_spare_up_to(seen, supply, per_device), largest=_largest(seen),
    )  # fmt: skip


def _values(seen: Sequence[Seen]) -> tuple[int, ...]:
    weights: dict[int, float] = defaultdict(float)
    for shape, weight in seen:
        if shape.devices == 1 and 0 < shape.share < WHOLE:
            weights[shape.share] += weight
    known = sum(weight for shape, weight in seen if shape.devices)
    trust = known / (known + PRIOR_ASKS)
    learned = _mean_table(weights)
    mixed = trust * learned + (1.0 - trust) * np.array(LINEAR)
    found = np.maximum.accumulate(np.rint(mixed).astype(np.int64))
    return tuple(found.tolist())


def _mean_table(weights: Mapping[int, float]) -> Floats:
    """(1001,) thousandths, from weights by share. Without shares only a whole device is worth anything."""
    mean = np.zeros(WHOLE + 1)
    mean[WHOLE] = WHOLE
    if not weights:
        return mean
    demand_of, patterns = _programme(weights)
    sizes, demand = list(demand_of), np.array(list(demand_of.values()))
    mean[:] = 0.0
    rng = np.random.default_rng(1)
    for _ in range(PROGRAMMES):
        shaken = demand * rng.lognormal(0.0, SHAKE, len(demand))
        solved = linprog(-shaken, A_ub=patterns, b_ub=np.ones(patterns.shape[0]), method="highs-ds")
        table = _dearest_set(sizes, solved.x)
        table[WHOLE] = 1.0
        mean += table * (WHOLE / PROGRAMMES)
    return mean


def _programme(weights: Mapping[int, float]) -> tuple[dict[int, float], csr_matrix]:
    """Demand by size, sizes descending, and the ways to fill a device (one a row, a column for each size)."""
    least = RARE * sum(weights.values())
    for grid in GRIDS:
        demand: dict[int, float] = defaultdict(float)
        for share in sorted(weights, reverse=True):
            if weights[share] >= least:
                demand[min(WHOLE, -(-share // grid) * grid)] += weights[share]
        patterns = _patterns(list(demand))
        if len(patterns) <= PATTERNS:
            break
    return demand, csr_matrix(np.array(patterns, np.float64))


def _patterns(sizes: Sequence[int]) -> list[list[int]]:
    """Every way to fill a device with shares (sizes descending) to which none can be added; stops at one too many."""
    found: list[list[int]] = []

    def fill(at: int, left: int, counts: list[int]) -> None:
        if at == len(sizes) - 1 or left < sizes[-1]:
            found.append([*counts, left // sizes[at], *[0] * (len(sizes) - at - 1)])
            return
        for count in range(left // sizes[at], -1, -1):
            if len(found) <= PATTERNS:
                fill(at + 1, left - count * sizes[at], [*counts, count])

    fill(0, WHOLE, [])
    return found


def _dearest_set(sizes: Sequence[int], prices: Floats) -> Floats:
    """(1001,): the highest sum of prices of shares that fit together into r permille."""
    best = [0.0] * (WHOLE + 1)
    priced = [(size, float(price)) for size, price in zip(sizes, prices, strict=True) if price > 0]
    for left in range(1, WHOLE + 1):
        top = best[left - 1]
        for size, price in priced:
            if size <= left and best[left - size] + price > top:
                top = best[left - size] + price
        best[left] = top
    return np.array(best)


def _cores_per_device(seen: Sequence[Seen], supply: Supply) -> int:
    """Thousandths of a core. The prior is what the fleet has."""
    devices = sum(weight * shape.devices * shape.share / WHOLE for shape, weight in seen)
    cores = sum(weight * shape.cores_milli for shape, weight in seen if shape.devices)
    return int((cores + PRIOR_ASKS * supply.cores_per_device) / (devices + PRIOR_ASKS))


def _spare_up_to(seen: Sequence[Seen], supply: Supply, per_device: int) -> int:
    """Smallest nodes first: devices of the node with which the cores suffice when every device is in usual use."""
    devices = sum(weight * shape.devices * shape.share / WHOLE for shape, weight in seen)
    lone = sum(weight * shape.cores_milli for shape, weight in seen if not shape.devices)
    wanted = lone / (devices + PRIOR_ASKS) * sum(supply.devices.values())
    spare: dict[int, int] = defaultdict(int)
    for (size, cores), nodes in supply.hosts.items():
        spare[size] += max(0, cores - size * per_device) * nodes
    so_far = 0
    for size in sorted(spare)[:-1]:
        so_far += spare[size]
        if 0 < wanted <= so_far:
            return size
    return 0


def _largest(seen: Sequence[Seen]) -> int:
    known = sum(weight for shape, weight in seen if shape.devices) + PRIOR_ASKS
    counts: dict[int, float] = defaultdict(float)
    for shape, weight in seen:
        counts[shape.devices] += weight
    return max((count for count, weight in counts.items() if count and weight >= RARE * known), default=1)


def _scarcity(seen: Sequence[Seen], supply: Supply) -> dict[str, int]:
    have = sum(supply.devices.values())
    demand: dict[frozenset[str] | None, float] = defaultdict(float)
    for shape, weight in seen:
        demand[shape.models] += weight * shape.devices * shape.share / WHOLE
    total = sum(demand.values()) + PRIOR_ASKS
    pressure = dict.fromkeys(supply.devices, 0.0)
    for models, asked in sorted(demand.items(), key=lambda one: sorted(one[0] or ())):
        if models is None or asked <= 0:
            continue
        share = sum(supply.devices.get(model, 0) for model in models) / max(have, 1)
        for model in models & supply.devices.keys():
            pressure[model] += asked / total / share
    lowest = min(pressure.values(), default=0.0)
    excess = {model: min(DEAREST, round(1000 * (one - lowest))) for model, one in sorted(pressure.items())}
    return {model: one for model, one in excess.items() if one > 0}
