"""The default: keep what is left useful for what is usually asked.

Questions about every place, each a term in thousandths of a device, the same for every tenant:
`value_kept`  how much of what the usual asks could still buy there does the placement use up;
`cores_stranded`  does it leave devices without the cores that usual asks bring along (or take cores from devices that
have too few);
`group_broken`  does it break the node's last group of free devices as large as the usual asks want together;
`tight`  of shares: how much of the chosen device stays open, the less the better;
`scarce_model`  is the model one that others need more, because they can use no other;
`larger_node`  of cores alone: is the node larger than need be, so that they are in the way of an ask for many devices.
Near-equal places count as equal (`rounded`), so that the fixed order of nodes decides and loads the same nodes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags
from allocator.engine.lessons import Lessons
from allocator.engine.mix import WHOLE
from allocator.engine.view import View, at, row_sums

# The one set of weights, in thousandths.
STRANDED = 1300
TIGHT = 200
GROUP = 20
SCARCE = 1300
# The unit in which places differ, in thousandths of a device.
TIE = 50


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """A policy of what was learned; see `learn`. Without lessons it is best fit that does not strand devices."""

    lessons: Lessons = field(default_factory=Lessons)
    name: str = "fragmentation"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        spare = at(view.spare, rows)
        worth = self.lessons.table.take(spare, mode="clip")
        total = row_sums(worth)[:, None]
        if ask.devices == 0:
            lost = np.zeros_like(total)
        else:
            left = _left_after(view, ask, rows, spare)
            lost = worth - self.lessons.table.take(left, mode="clip")
        if ask.devices > 1:
            lost = _lost_together(ask.devices, lost, at(view.permille, rows), fits)
        terms = {"value_kept": -lost, "cores_stranded": self._stranded(view, ask, rows, total, lost)}
        near = terms["cores_stranded"] - lost
        if ask.devices == 1 and not ask.whole and ask.permille < WHOLE:
            terms["tight"] = left * -TIGHT // WHOLE
            near += terms["tight"]
        if 0 < ask.devices < self.lessons.largest:
            terms["group_broken"] = _group_broken(ask, spare, fits, self.lessons.largest)
            near += terms["group_broken"]
        terms["rounded"] = -(near % TIE)
        if ask.devices and self.lessons.scarcity:
            terms["scarce_model"] = self._scarce(view, ask, rows, fits)
        if ask.devices == 0 and self.lessons.spare_up_to:
            larger = at(view.layout.devices, rows)[:, None] > self.lessons.spare_up_to
            terms["larger_node"] = larger * np.int64(-TIE // 2)
        return terms

    def _stranded(self, view: View, ask: Ask, rows: Ints, total: Ints, lost: Ints) -> Ints:
        """Minus the growth of the device value that the cores left cannot feed at the usual ratio."""
        per_device = self.lessons.cores_per_device
        if per_device == 0:
            return np.zeros_like(lost)
        cores = at(view.cores, rows)[:, None]
        before = total - cores * WHOLE // per_device
        after = total - (cores - ask.cores_milli) * WHOLE // per_device - lost
        less: Ints = np.maximum(before, 0) - np.maximum(after, 0)
        return less * STRANDED // WHOLE

    def _scarce(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> Ints:
        asked = ask.devices * (WHOLE if ask.whole else ask.permille) * SCARCE // WHOLE
        prices = [self.lessons.scarcity.get(model, 0) * asked // WHOLE for model in view.layout.models]
        of_model = -np.array([*prices, 0], np.int64)
        found: Ints = of_model.take(at(view.layout.model, rows))
        if ask.devices > 1:
            found = np.where(fits, found, 0).min(axis=1, keepdims=True, initial=0)
        return found


def _left_after(view: View, ask: Ask, rows: Ints, spare: Ints) -> Ints:
    """(rows, columns): what is left of a device with a piece of the ask on it, of its compute or of its memory."""
    if ask.whole:
        return np.zeros((len(rows), view.layout.columns), np.int64)
    left = at(view.permille, rows) - ask.permille
    if not ask.mib:
        # The same as below: memory left limits the permille before as well.
        in_memory = spare
    else:
        in_memory = (at(view.mib, rows) - ask.mib) * WHOLE // np.maximum(at(view.layout.mib, rows), 1)
    least: Ints = np.minimum(left, in_memory)
    return least


def _group_broken(ask: Ask, spare: Ints, fits: Flags, largest: int) -> Ints:
    """As `Policy.terms`: -GROUP for each group of whole free devices fewer on the node."""
    whole = spare >= WHOLE
    before = whole.sum(axis=1, keepdims=True)
    if ask.devices == 1:  # a group goes with the last device that it can spare
        fewer: Ints = (whole & (before % largest == 0)).astype(np.int64)
    else:
        used = np.maximum(0, ask.devices - (fits & ~whole).sum(axis=1, keepdims=True))
        fewer = before // largest - (before - used) // largest
    return fewer * -GROUP


def _lost_together(devices: int, lost: Ints, permille: Ints, fits: Flags) -> Ints:
    """Of the fullest `devices` that fit, as `View.pick` takes them: the sum of what each loses."""
    order = np.argsort(np.where(fits, permille, 2**40), axis=1, kind="stable")[:, :devices]
    together: Ints = np.take_along_axis(lost, order, axis=1).sum(axis=1, keepdims=True)
    return together
