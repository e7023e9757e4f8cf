"""The queue of the shop against the calendar, each time on one unlocked snapshot for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db.models import Sum

from allocator.engine import lineup, waiting_time
from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Taken
from allocator.engine.gang import Together
from allocator.models import Device
from allocator.selectors.devices import devices
from allocator.services._picture import PICTURE
from allocator.services._snapshot import ask_of, from_instant, to_instant
from vxpu.market import FleetSize, GuessedEnds, KeptRoom, QueuedWish, Standing, StartEstimate
from vxpu.slices import Period, Slice

# A replay costs a glance at each card for each shape of wish, and as much as 2,000 glances for each wish. A large fleet
# with a long line gets fewer replays, never none.
GLANCES = 3_000_000
A_WISH = 2_000


def line_up(*, queue: Sequence[QueuedWish], now: datetime) -> list[Standing]:
    """Who starts now, in the order given, and the room that is kept clear for the first who must wait."""
    with PICTURE.look(now=now) as seen:
        return [_standing(stand) for stand in lineup.line_up(seen.draft, [_waiting(one) for one in queue])]


def estimate_starts(
    *, queue: Sequence[QueuedWish], guesses: Sequence[GuessedEnds], now: datetime
) -> list[StartEstimate]:
    """P50 and P90 of each start over the replays of the calendar, one for each of the guesses (at least one)."""
    with PICTURE.look(now=now) as seen:
        fleet = seen.draft.fleet()
    waiting = [_waiting(one) for one in queue]
    shapes = {replace(ask, starts=0) for one in waiting for ask in one.asks}
    affordable = max(1, GLANCES // max(1, len(shapes) * len(fleet.cards) + A_WISH * len(waiting)))
    replays = [
        waiting_time.replay(fleet, waiting, guesses=_guesses(one, now=now)) for one in guesses[:affordable]
    ]  # fmt: skip
    return [
        StartEstimate(
            id=one.id,
            starts_at=_instant(waiting_time.quantile([starts[place] for starts in replays], 500)),
            starts_by=_instant(waiting_time.quantile([starts[place] for starts in replays], 900)),
        )
        for place, one in enumerate(waiting)
    ]


def keep_clear(draft: Draft, kept: Iterable[KeptRoom]) -> None:
    """Draft the rooms that are kept as if they were taken."""
    for room in kept:
        if room.device_id in draft.layout.place_of:
            draft.replace(room.device_id, [*draft.card(room.device_id).taken, _taken(room)])


def fleet_size() -> FleetSize:
    """Of all devices of active nodes."""
    found: dict[str, int | None] = (
        Device.objects.filter(pk__in=devices().values("pk"))
        .aggregate(permille=Sum("capacity_permille"), mib=Sum("capacity_mib"))
    )  # fmt: skip
    return FleetSize(permille=found["permille"] or 0, mib=found["mib"] or 0)


def _waiting(one: QueuedWish) -> lineup.Waiting:
    return lineup.Waiting(
        id=one.id,
        asks=tuple(ask_of(wish) for wish in one.wishes),
        together=Together(one.together),
        collects=one.collects,
        collect_on=one.collect_on,
    )


def _standing(stand: lineup.Stand) -> Standing:
    return Standing(
        id=stand.id,
        fits=stand.fits,
        starts_at=_instant(stand.starts),
        kept=tuple(_room(piece) for piece in stand.kept),
        constraints=stand.counts,
    )


def _room(piece: lineup.Kept) -> KeptRoom:
    taken = piece.taken
    return KeptRoom(
        device_id=piece.device_id,
        owner=taken.lease_id,
        slice=Slice(memory_mib=taken.mib, share_permille=taken.permille),
        period=Period(starts_at=from_instant(taken.starts), ends_at=_instant(taken.ends)),
        whole=taken.whole,
    )


def _taken(room: KeptRoom) -> Taken:
    return Taken(
        lease_id=room.owner,
        starts=to_instant(room.period.starts_at),
        ends=to_instant(room.period.ends_at),
        permille=room.slice.share_permille,
        mib=room.slice.memory_mib,
        whole=room.whole,
    )


def _guesses(one: GuessedEnds, *, now: datetime) -> waiting_time.Guesses:
    first = to_instant(now)
    return waiting_time.Guesses(
        {lease_id: max(first + 1, to_instant(at)) for lease_id, at in one.ends.items()},
        {wish: max(1, int(length.total_seconds() * 1_000_000)) for wish, length in one.lengths.items()},
    )


def _instant(at: int | None) -> datetime | None:
    return None if at is None or at == FOREVER else from_instant(at)
