"""Groups of alike requests by K-means (Lloyd 1982, k-means++ seeding), as a label for reports.

A label and nothing else: letting groups steer placement gained nothing on either benchmark (docs/allocator.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allocator.engine.mix import WHOLE, Seen, Shape

Floats = NDArray[np.float64]

ROUNDS = 50


class Group(NamedTuple):
    """`label` is its place in the result, from the most asked on; `middle` the shape that is nearest to its centre."""

    label: int
    middle: Shape
    shapes: tuple[Shape, ...]
    permille_of_asks: int


def features(shape: Shape) -> tuple[float, float]:
    """Devices (a share is a part of one) and cores, each as a logarithm: twice as much is one apart, anywhere."""
    devices = shape.devices * shape.share / WHOLE
    return (float(np.log2(1.0 + 8.0 * devices)), float(np.log2(1.0 + shape.cores_milli / 1000.0)))


def group_shapes(seen: Sequence[Seen], *, groups: int, seed: int) -> list[Group]:
    """At most `groups` groups, none empty. Weights count; deterministic for the same shapes and seed."""
    if groups < 1:
        raise ValueError(f"{groups} groups")
    known = [one for one in seen if one.weight > 0]
    if not known:
        return []
    points = np.array([features(one.shape) for one in known])
    weights = np.array([one.weight for one in known])
    centres = _first_centres(points, weights, groups, np.random.default_rng(seed))
    for _ in range(ROUNDS):
        nearest = _distances(points, centres).argmin(axis=1)
        moved = np.array([_mean(points, weights, nearest == number, centre) for number, centre in enumerate(centres)])
        if np.allclose(moved, centres):
            break
        centres = moved
    return _labelled(known, points, weights, centres)


def _first_centres(points: Floats, weights: Floats, groups: int, rng: np.random.Generator) -> Floats:
    """k-means++: each next one by its weighted squared distance to those chosen; fewer if all points are taken."""
    chosen = [int(rng.choice(len(points), p=weights / weights.sum()))]
    while len(chosen) < groups:
        far = weights * _distances(points, points[chosen]).min(axis=1)
        if far.sum() <= 0:
            break
        chosen.append(int(rng.choice(len(points), p=far / far.sum())))
    return points[chosen]


def _distances(points: Floats, centres: Floats) -> Floats:
    """(points, centres), squared."""
    found: Floats = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return found


def _mean(points: Floats, weights: Floats, inside: NDArray[np.bool_], centre: Floats) -> Floats:
    if not inside.any():
        return centre
    found: Floats = np.average(points[inside], axis=0, weights=weights[inside])
    return found


def _labelled(seen: Sequence[Seen], points: Floats, weights: Floats, centres: Floats) -> list[Group]:
    distances = _distances(points, centres)
    nearest, total = distances.argmin(axis=1), float(weights.sum())
    found = []
    for number in sorted(set(nearest.tolist())):
        inside = np.flatnonzero(nearest == number)
        middle = seen[int(inside[distances[inside, number].argmin()])].shape
        share = round(1000 * float(weights[inside].sum()) / total)
        found.append(Group(0, middle, tuple(seen[at].shape for at in inside.tolist()), share))
    found.sort(key=lambda group: (-group.permille_of_asks, group.middle[:3]))
    return [group._replace(label=label) for label, group in enumerate(found)]
