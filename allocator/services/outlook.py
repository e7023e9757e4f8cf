"""When wishes would fit soonest and what is free now: one unlocked snapshot for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from allocator.engine.later import earliest, largest_free
from allocator.services._snapshot import ask_of, from_instant, read_fleet
from vxpu.market import Outlook, Wish
from vxpu.slices import Slice


def outlook(*, wishes: Sequence[Wish], now: datetime) -> list[Outlook]:
    """One answer a wish, in their order. `free` is over the wish's own period."""
    fleet = read_fleet(from_at=now, now=now)
    found = []
    for wish in wishes:
        ask = ask_of(wish)
        later, free = earliest(fleet, ask), largest_free(fleet, ask)
        found.append(
            Outlook(
                earliest_start_at=None if later is None else from_instant(later.starts),
                free=None if free is None else Slice(memory_mib=free.mib, share_permille=free.permille),
            )
        )
    return found
