"""Where the same work makes least CO2: device power x PUE x grams of CO2 per kWh of the site's current.

The term is in tenths of a gram an hour of the asked share at full work; the fill, as `binpack` counts it, in tenths of
its points, so sites that differ by less than ten grams an hour are filled as if they were one. What a site or a device
does not tell is taken as the median of those that do, and named so (`carbon_assumed`): unknown is not zero, and no
better than known. Where nobody tells anything, nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median_low

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask, Site
from allocator.engine.layout import Flags, Layout
from allocator.engine.policies.binpack import COMPUTE_WEIGHT, MEMORY_WEIGHT, free_after
from allocator.engine.view import View

# From W x permille of PUE x g/kWh x permille of a device to tenths of a gram an hour.
SCALE = 10**8
FILL_SCALE = 10


class Carbon:
    name = "carbon"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        rate, is_assumed = view.layout.keep("carbon rate", lambda: _rates(view.layout))
        permille, _ = view.takes(ask, rows)
        grams = -(rate[rows] * permille // SCALE)
        assumed = is_assumed[rows]
        if ask.devices != 1:
            # The mean over the devices that fit; which of them are taken is not known yet.
            count = np.maximum(fits.sum(axis=1, keepdims=True), 1)
            grams = ask.devices * (grams * fits).sum(axis=1, keepdims=True) // count
            assumed = (assumed & fits).sum(axis=1, keepdims=True) > 0
        compute, memory = free_after(view, ask, rows)
        return {
            "carbon": np.where(assumed, 0, grams),
            "carbon_assumed": np.where(assumed, grams, 0),
            "used": (COMPUTE_WEIGHT - compute + MEMORY_WEIGHT - memory) // FILL_SCALE,
        }


def _rates(layout: Layout) -> tuple[Ints, Flags]:
    """(rows, columns): W x permille of PUE x g/kWh of a whole device, and where some of that is assumed."""
    pue, no_pue = _of_site(layout, lambda site: site.pue_permille)
    carbon, no_carbon = _of_site(layout, lambda site: site.carbon_g_per_kwh)
    known = layout.power_w[layout.power_w >= 0]
    no_power = layout.exists & (layout.power_w < 0)
    power = np.where(no_power, median_low(known.tolist()) if len(known) else 0, np.maximum(layout.power_w, 0))
    return power * (pue * carbon)[:, None], no_power | (no_pue | no_carbon)[:, None]


def _of_site(layout: Layout, read: Callable[[Site], int | None]) -> tuple[Ints, Flags]:
    """(rows,): the fact of each node's site, or the median of the sites that tell; and where it is the median."""
    told = {name: value for name, site in layout.sites.items() if (value := read(site)) is not None}
    usual = median_low(told.values()) if told else 0
    found = np.array([told.get(machine.site, usual) for machine in layout.machines], np.int64)
    return found, layout.rows_of(lambda machine: machine.site not in told)
