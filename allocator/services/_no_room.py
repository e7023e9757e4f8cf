"""A "no" with its reason and a way: which constraint failed, when it would fit, and what size would fit now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask
from allocator.engine.later import Later
from allocator.engine.ways import earliest, nearest_sizes
from allocator.errors import DoesNotFit
from allocator.services._snapshot import from_instant
from vxpu.ids import encode
from vxpu.slices import Slice


def no_room(*, draft: Draft, ask: Ask) -> DoesNotFit:
    """The error to raise. Its `data`: constraints, next_free_at, nearest, alternatives; the figures of one snapshot."""
    counts = draft.view(ask.starts, ask.ends).counts(ask)
    later = earliest(draft, ask)
    nearest = [] if ask.whole else nearest_sizes(draft, ask)
    sizes = [Slice(memory_mib=size.mib, share_permille=size.permille) for size, _ in nearest]
    alternatives = [_later(later, ask)] if later is not None and later.starts > ask.starts else []
    alternatives += [
        {
            "kind": "smaller",
            "slice": size.model_dump(),
            "device": encode("dev", card.device_id),
            **_times(ask.starts, ask),
        }
        for size, (_, card) in zip(sizes, nearest, strict=True)
    ]
    next_free_at = from_instant(later.starts) if later is not None else None
    return DoesNotFit(
        _detail(counts, next_free_at),
        suggestion=_suggestion(next_free_at, sizes),
        constraints=counts,
        next_free_at=next_free_at,
        nearest=sizes,
        alternatives=alternatives,
    )


def _later(later: Later, ask: Ask) -> dict[str, Any]:
    return {
        "kind": "later",
        **_times(later.starts, ask),
        "slice": {"memory_mib": ask.mib, "share_permille": ask.permille},
        "device": encode("dev", later.card.device_id),
    }


def _times(starts: int, ask: Ask) -> dict[str, datetime | None]:
    """As long as was asked, from `starts`."""
    ends = None if ask.ends == FOREVER else from_instant(starts + ask.ends - ask.starts)
    return {"starts_at": from_instant(starts), "ends_at": ends}


def _detail(counts: dict[str, int], next_free_at: datetime | None) -> str:
    if not counts and next_free_at is None:
        return "There is no device."
    reasons = ", ".join(f"{name}: {number}" for name, number in counts.items())
    return f"Devices ruled out by constraint: {reasons or 'taken by someone else meanwhile'}."


def _suggestion(next_free_at: datetime | None, sizes: list[Slice]) -> str:
    ways = []
    if next_free_at is not None:
        ways.append(f"start at {next_free_at.isoformat()}")
    if sizes:
        ways.append(f"take {sizes[0]}")
    return f"You could {' or '.join(ways)}." if ways else "Change the wish: nothing of this fleet can take it."
