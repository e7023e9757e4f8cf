"""The default: keep what is left useful for what is usually asked.

Four questions about every place, each a term in thousandths of a device, the same for every tenant:
`value_kept`  how much of what the usual asks could still buy there does the placement use up;
`cores_stranded`  does it leave devices without the cores that usual asks bring along (or take cores from devices that
have too few);
`tight`  of shares: how much of the chosen device stays open, the less the better;
`scarce_model`  is the model one that others need more, because they can use no other.
Near-equal places count as equal (`rounded`), so that the fixed order of nodes decides and loads the same nodes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.lessons import Lessons
from allocator.engine.mix import WHOLE
from allocator.engine.view import Flags, View

# The one set of weights, in thousandths.
TIGHT = 200
SCARCE = 1000
# The unit in which places differ, in thousandths of a device.
TIE = 50


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """A policy of what was learned; see `learn`. Without lessons it is best fit that does not strand devices."""

    lessons: Lessons = field(default_factory=Lessons)
    name: str = "fragmentation"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        worth, after, left = _worth(self.lessons.table, view, ask, rows)
        total = worth.sum(axis=1, keepdims=True)
        if ask.devices == 1:
            lost = worth - after
        elif ask.devices == 0:
            lost = np.zeros((len(rows), 1), np.int64)
        else:
            lost = _lost_together(ask.devices, worth - after, view.permille[rows], fits)
        terms = {"value_kept": -lost}
        # An ask for cores alone is compared by what it strands.
        terms["cores_stranded"] = self._stranded(view, ask, rows, total, lost)
        if ask.devices == 1 and not ask.whole and ask.permille < WHOLE:
            terms["tight"] = -(left * TIGHT // WHOLE)
        near: Ints = terms["value_kept"] + terms["cores_stranded"]
        if "tight" in terms:
            near = near + terms["tight"]
        terms["rounded"] = np.negative(near % TIE)
        if ask.devices and self.lessons.scarcity:
            terms["scarce_model"] = self._scarce(view, ask, rows, fits)
        return terms

    def _stranded(self, view: View, ask: Ask, rows: Ints, total: Ints, lost: Ints) -> Ints:
        """Minus the growth of the device value that the cores left cannot feed at the usual ratio."""
        per_device = self.lessons.cores_per_device
        if per_device == 0:
            return np.zeros_like(lost)
        cores = view.cores[rows][:, None]
        before = np.maximum(0, total - cores * WHOLE // per_device)
        after = np.maximum(0, total - lost - (cores - ask.cores_milli) * WHOLE // per_device)
        growth: Ints = after - before
        return -growth

    def _scarce(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> Ints:
        price = np.array([self.lessons.scarcity.get(model, 0) for model in view.layout.models] + [0], np.int64)
        models = price[view.layout.model[rows]]
        if ask.devices > 1:
            models = np.where(fits, models, 0).max(axis=1, keepdims=True, initial=0)
        asked = WHOLE if ask.whole else ask.permille
        price_of_ask: Ints = models * (asked * ask.devices * SCARCE // WHOLE) // WHOLE
        return -price_of_ask


def _worth(table: Ints, view: View, ask: Ask, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """(rows, columns) each: the value of what is left of every device now, and with a piece of the ask on it, and the
    permille left then. The scarcer of compute and memory counts; what takes nothing new is worth nothing."""
    permille, mib, caps = view.permille[rows], view.mib[rows], view.layout.mib[rows]
    caps = np.maximum(caps, 1)
    usable = view.open[rows] & (view.wholes[rows] == 0)
    now = np.where(usable, np.minimum(permille, mib * WHOLE // caps), 0)
    if ask.whole:
        return table[now.clip(0, WHOLE)], np.zeros_like(now), np.zeros_like(now)
    then = np.minimum(permille - ask.permille, (mib - ask.mib) * WHOLE // caps)
    return table[now.clip(0, WHOLE)], table[then.clip(0, WHOLE)], then.clip(0, WHOLE)


def _lost_together(devices: int, lost: Ints, permille: Ints, fits: Flags) -> Ints:
    """Of the fullest `devices` that fit, as `View.pick` takes them: the sum of what each loses."""
    order = np.argsort(np.where(fits, permille, 2**40), axis=1, kind="stable")[:, :devices]
    together: Ints = np.take_along_axis(lost, order, axis=1).sum(axis=1, keepdims=True)
    return together
