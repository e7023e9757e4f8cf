"""When wishes would fit soonest and what is free now: one unlocked snapshot for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask
from allocator.engine.ways import earliest, largest_free
from allocator.services._picture import PICTURE
from allocator.services._snapshot import ask_of, from_instant
from vxpu.market import Outlook, Wish
from vxpu.slices import Slice


def outlook(*, wishes: Sequence[Wish], now: datetime) -> list[Outlook]:
    """One answer a wish, in their order. `free` is over the wish's own period."""
    with PICTURE.look(now=now) as seen:
        return [_outlook(seen.draft, ask_of(wish)) for wish in wishes]


def _outlook(draft: Draft, ask: Ask) -> Outlook:
    later, free = earliest(draft, ask), largest_free(draft, ask)
    return Outlook(
        earliest_start_at=None if later is None else from_instant(later.starts),
        free=None if free is None else Slice(memory_mib=free.mib, share_permille=free.permille),
    )
