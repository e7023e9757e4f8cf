"""Well-linked devices for who asks for several, and the worst-linked one for who asks for one.

For several devices: ten points for each point of the mean pair score of the best group (see `topology`), so that one
class of PCIe path is worth a tenth of a device's fill, and an NVLink all of it. For one: up to 1000 points lost for
breaking into links between free devices; a device that is in use has none to lose, so shares go on top of shares.
The fill, as `binpack` counts it, decides between equals. A node whose links are unknown counts as linked across CPUs.
"""

from __future__ import annotations

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags, Layout
from allocator.engine.policies.binpack import COMPUTE_WEIGHT, MEMORY_WEIGHT, free_after
from allocator.engine.topology import UNKNOWN, Links, best_group
from allocator.engine.view import View

PER_POINT = 10
MOST = 1000


class Topology:
    name = "topology"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        compute, memory = free_after(view, ask, rows)
        links: Ints = np.zeros((len(rows), 1), np.int64)
        if ask.devices == 1:
            links = np.array([_lost(view, row) for row in rows.tolist()], np.int64).reshape(fits.shape)
        elif ask.devices:
            found = [_mean(view.layout, row, fit, ask.devices) for row, fit in zip(rows.tolist(), fits, strict=True)]
            links = np.array(found, np.int64).reshape(-1, 1)
        return {"links": links, "used": COMPUTE_WEIGHT - compute + MEMORY_WEIGHT - memory}

    def pick(self, view: View, ask: Ask, row: int) -> tuple[int, ...]:
        """The best group of the free devices; of a node whose links are unknown, the fullest ones."""
        links = links_at(view.layout, row)
        if links is None or ask.devices == 0:
            return view.pick(ask, row)
        free = tuple(np.flatnonzero(view.fits(ask, np.array([row]))[0]).tolist())
        group = best_group(links, free, ask.devices)
        return () if group is None else group.columns


def links_at(layout: Layout, row: int) -> Links | None:
    """None: the node said nothing of its links."""
    links = layout.machines[row].links
    return layout.keep(("links", row), lambda: Links.of(layout.device_ids[row], links)) if links else None


def _mean(layout: Layout, row: int, fits: Flags, size: int) -> int:
    links = links_at(layout, row)
    if links is None:
        return PER_POINT * UNKNOWN
    group = best_group(links, tuple(np.flatnonzero(fits).tolist()), size)
    return 0 if group is None else PER_POINT * group.inner * 2 // (size * (size - 1))


def _lost(view: View, row: int) -> list[int]:
    """By column: minus the share of the node's links that end at this device and at another free one."""
    columns, layout = view.layout.columns, view.layout
    links = links_at(layout, row)
    if links is None:
        return [0] * columns
    most = layout.keep(("most linked", row), lambda: max(map(sum, links.scores), default=0)) or 1
    free = np.flatnonzero(view.open[row] & (view.pieces[row] == 0)).tolist()
    lost = [0] * columns
    for column in free:
        lost[column] = -(MOST * links.to_others(column, free) // most)
    return lost
