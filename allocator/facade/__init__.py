"""What other rooms may call: keyword-only, frozen values in and out, never a row.

Each call sees the whole fleet (the system scope): whose lease it is, is for the caller to check, who knows its own
rows. Functions marked "tx" want the caller's transaction (`plumbing.db.transaction`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.errors import (
    CannotMove,
    DoesNotFit,
    HoldLapsed,
    IllegalPeriod,
    LeaseLost,
    LeaseMoving,
    MoveChanged,
    NothingToMove,
)
from allocator.facade.group import book_gang, get_devices, list_choices, policy_names, propose_gang
from allocator.facade.lost import (
    book_all,
    find_devices,
    find_places,
    find_words,
    give_out,
    hand_over_standby,
    list_leaving,
    list_lost,
    look_ahead,
    watch_nodes,
)
from allocator.facade.moves import (
    cancel_move,
    end_room,
    fail_move,
    get_move,
    is_room_made,
    is_room_made_anywhere,
    is_spare,
    let_moves_go_over,
    list_moves,
    list_moves_to_switch,
    list_rooms,
    room_failed_since,
    start_room,
    switch_move,
)
from allocator.facade.scope import whole_fleet
from allocator.selectors import delivered, devices, maintenance, nodes
from allocator.selectors import leases as lease_rows
from allocator.selectors.health import health_of
from allocator.services import (
    dirty,
    hold,
    lease_token,
    line,
    place,
    preempt,
    timeline,
)
from allocator.services import outlook as outlooks
from allocator.services import release as releasing
from allocator.services import resize as resizing
from plumbing.feed import Place
from vxpu.market import (
    CalendarRow,
    Candidate,
    DeviceView,
    DirtyHour,
    FleetSize,
    GuessedEnds,
    IdleReport,
    KeptRoom,
    LeaseEventView,
    LeaseView,
    MaintenanceView,
    NodeEventView,
    Outlook,
    Phase,
    QueuedWish,
    Standing,
    StartEstimate,
    UsageReport,
    Wish,
)
from vxpu.slices import Slice

__all__ = [
    "CannotMove", "DoesNotFit", "HoldLapsed", "IllegalPeriod", "LeaseLost", "LeaseMoving", "MoveChanged",
    "NothingToMove", "book", "book_all", "book_gang", "cancel_move", "check_end", "check_resize", "confirm",
    "device_idle", "end_room", "estimate_starts", "fail_move", "fence", "find_devices", "find_places", "find_victims",
    "find_words", "fleet_size", "get_device", "get_devices", "get_lease", "get_move", "give_notice", "give_out",
    "hand_over_standby", "health_score", "is_room_made", "is_room_made_anywhere", "is_spare", "issue_lease_token",
    "let_moves_go_over", "line_up", "list_calendar", "list_choices", "list_devices", "list_lease_news", "list_leases",
    "list_leaving", "list_lost", "list_maintenance", "list_moves", "list_moves_to_switch", "list_node_events",
    "list_rooms", "look_ahead", "metered_phases", "outlook", "policy_names", "propose", "propose_gang", "release",
    "resize", "room_failed_since", "set_end", "start_room", "switch_move", "take_dirty_hours", "throttled_permille",
    "unread_spans", "usage_report", "used_permille_s", "watch_nodes", "withdraw_notice",
]  # fmt: skip


@whole_fleet
def propose(*, wish: Wish, now: datetime, kept: Sequence[KeptRoom] = ()) -> list[Candidate]:
    """The best devices for the wish, best first, on an unlocked snapshot, beside rooms that are `kept` for others.

    Raises DoesNotFit with reasons and ways.
    """
    return place.propose(wish=wish, now=now, kept=kept)


@whole_fleet
def line_up(*, queue: Sequence[QueuedWish], now: datetime) -> list[Standing]:
    """Who of a queue starts now, in the order given, and the room that is kept clear for the first who must wait. One
    snapshot for all; takes nothing."""
    return line.line_up(queue=queue, now=now)


@whole_fleet
def estimate_starts(
    *, queue: Sequence[QueuedWish], guesses: Sequence[GuessedEnds], now: datetime
) -> list[StartEstimate]:
    """When each would start, from replays of the calendar of one snapshot; a large fleet gets fewer than guesses."""
    return line.estimate_starts(queue=queue, guesses=guesses, now=now)


@whole_fleet
def fleet_size() -> FleetSize:
    """Compute and memory of all devices that can be sold."""
    return line.fleet_size()


@whole_fleet
def book(
    *,
    tenant_id: UUID,
    owner: UUID,
    wish: Wish,
    candidates: Sequence[Candidate],
    hold_until: datetime | None,
    now: datetime,
) -> LeaseView:
    """tx. Take the first candidate that the database grants; held until then, or assigned. Raises DoesNotFit."""
    lease = place.book(
        tenant_id=tenant_id,
        owner=owner,
        wish=wish,
        candidates=candidates,
        hold_until=hold_until,
        now=now,
        operator_tenant=settings.VXPU_OPERATOR_TENANT,
    )
    return lease_rows.view_of(lease)


@whole_fleet
def confirm(*, lease_id: UUID, now: datetime) -> LeaseView:
    """tx. HELD -> ASSIGNED, idempotent. Raises HoldLapsed, LeaseLost."""
    return lease_rows.view_of(hold.confirm(lease_id=lease_id, now=now))


@whole_fleet
def release(*, lease_id: UUID, reason: str, now: datetime) -> LeaseView:
    """tx. Idempotent; a running lease drains until its node says that it is gone."""
    return lease_rows.view_of(releasing.release(lease_id=lease_id, reason=reason, now=now))


@whole_fleet
def fence(*, lease_id: UUID, reason: str, now: datetime) -> LeaseView:
    """tx. An unreachable lease is given up: LOST under a newer token. Raises LeaseLost if its node is heard."""
    return lease_rows.view_of(releasing.fence(lease_id=lease_id, reason=reason, now=now))


@whole_fleet
def resize(*, lease_id: UUID, slice: Slice, now: datetime) -> LeaseView:  # noqa: A002 - the product's word
    """tx. A new size from the next whole second. Raises DoesNotFit with alternatives, LeaseLost, IllegalPeriod."""
    return lease_rows.view_of(resizing.resize(lease_id=lease_id, slice=slice, now=now))


@whole_fleet
def set_end(*, lease_id: UUID, ends_at: datetime | None, now: datetime) -> LeaseView:
    """tx. Extend, shorten or open the end. Raises DoesNotFit, LeaseLost, IllegalPeriod."""
    return lease_rows.view_of(resizing.set_end(lease_id=lease_id, ends_at=ends_at, now=now))


@whole_fleet
def check_resize(
    *,
    lease_id: UUID,
    slice: Slice,  # noqa: A002 - the product's word
    now: datetime,
    kept: Sequence[KeptRoom] = (),
) -> datetime:
    """When another size would begin, beside rooms that are `kept` for others; takes nothing. Raises as `resize`."""
    return resizing.check_resize(lease_id=lease_id, slice=slice, now=now, kept=kept)


@whole_fleet
def check_end(*, lease_id: UUID, ends_at: datetime | None, now: datetime, kept: Sequence[KeptRoom] = ()) -> None:
    """Whether another end would do, beside rooms that are `kept` for others; takes nothing. Raises as `set_end`."""
    resizing.check_end(lease_id=lease_id, ends_at=ends_at, now=now, kept=kept)


# Frozen values in and out already: see allocator/services/preempt.py.
find_victims = whole_fleet(preempt.find_victims)
give_notice = whole_fleet(preempt.give_notice)
withdraw_notice = whole_fleet(preempt.withdraw_notice)
throttled_permille = whole_fleet(delivered.throttled_permille)


@whole_fleet
def get_lease(*, lease_id: UUID) -> LeaseView:
    """Raises NotFound."""
    return lease_rows.view_of(lease_rows.get_lease(lease_id=lease_id))


@whole_fleet
def list_leases(*, owners: Iterable[UUID]) -> list[LeaseView]:
    """Every lease of these owners, ended ones too, by start."""
    return [lease_rows.view_of(lease) for lease in lease_rows.list_leases(owners=owners)]


@whole_fleet
def list_lease_news(
    *,
    tenant_id: UUID | None,
    before: Place | None,
    limit: int,
    owners: Collection[UUID] | None = None,
    lease_id: UUID | None = None,
) -> list[LeaseEventView]:
    """Leases that fell silent, came back or were lost, newest first. None is every tenant, owner, lease."""
    found = lease_rows.list_news(tenant_id=tenant_id, owners=owners, lease_id=lease_id, before=before, limit=limit)
    return [lease_rows.news_view_of(event) for event in found]


@whole_fleet
def list_devices() -> list[DeviceView]:
    """Devices of active nodes, offline ones too, by id."""
    return devices.list_devices()


def health_score(*, device: DeviceView, now: datetime) -> int | None:
    """0 (do not use) to 100 by the device's own fresh readings; None when none of them tells."""
    return health_of(device.readings, now=now).score


@whole_fleet
def get_device(*, device_id: UUID) -> DeviceView:
    """Raises NotFound."""
    return devices.get_device(device_id=device_id)


@whole_fleet
def list_maintenance(*, from_at: datetime, to_at: datetime) -> list[MaintenanceView]:
    """Nodes out of service on purpose at some time in [from_at, to_at), by start. A cordon has no period."""
    return [maintenance.view_of(period) for period in maintenance.list_maintenance(from_at=from_at, to_at=to_at)]


@whole_fleet
def list_node_events(*, before: Place | None, limit: int) -> list[NodeEventView]:
    """Newest first."""
    return [nodes.event_view_of(event) for event in nodes.list_events_before(before=before, limit=limit)]


@whole_fleet
def list_calendar(
    *,
    from_at: datetime,
    to_at: datetime,
    slice: Slice,  # noqa: A002 - the product's word
    now: datetime,
    device_kind: str | None = None,
    device_id: UUID | None = None,
) -> list[CalendarRow]:
    """Every device's calendar in [from_at, to_at) and where the slice fits; one snapshot. The caller hides names."""
    return timeline.list_rows(
        from_at=from_at, to_at=to_at, piece=slice, now=now, device_kind=device_kind, device_id=device_id
    )


@whole_fleet
def outlook(*, wishes: Sequence[Wish], now: datetime) -> list[Outlook]:
    """For each wish: when it would fit soonest, and what is free over its period. One snapshot, no promise."""
    return outlooks.outlook(wishes=wishes, now=now)


@whole_fleet
def issue_lease_token(*, lease_id: UUID, now: datetime) -> str:
    """A JWT (vxpu/wire/exec.py) for at most 10 minutes. Raises NotFound, LeaseLost for a lease that does not run."""
    return lease_token.issue_lease_token(lease=lease_rows.get_lease(lease_id=lease_id), now=now)


@whole_fleet
def metered_phases(*, lease_id: UUID, now: datetime) -> list[Phase]:
    """Delivered time as of `now`, in whole seconds, split at resizes, without the node's silences."""
    return delivered.list_phases(lease=lease_rows.get_lease(lease_id=lease_id), now=now)


@whole_fleet
def used_permille_s(*, lease_id: UUID, starts_at: datetime, ends_at: datetime) -> int:
    """Permille-seconds used in the windows that start in [starts_at, ends_at)."""
    return delivered.used_permille_s(lease_id=lease_id, starts_at=starts_at, ends_at=ends_at)


@whole_fleet
def unread_spans(*, lease_id: UUID, starts_at: datetime, ends_at: datetime) -> list[tuple[datetime, datetime]]:
    """Within [starts_at, ends_at): where the device could not tell the use. In order, joined."""
    return delivered.unread_spans(lease_id=lease_id, starts_at=starts_at, ends_at=ends_at)


@whole_fleet
def take_dirty_hours(*, limit: int) -> list[DirtyHour]:
    """tx. Rating buckets in which a fact changed; they come back if the transaction rolls back."""
    return dirty.take_dirty_hours(limit=limit)


@whole_fleet
def device_idle(*, device_id: UUID, starts_at: datetime, ends_at: datetime) -> IdleReport:
    """From the calendar of delivered time only. dominant + idle - over = 1000 x seconds, exactly."""
    return delivered.device_idle(device_id=device_id, starts_at=starts_at, ends_at=ends_at)


@whole_fleet
def usage_report(*, lease_id: UUID) -> UsageReport:
    """Every counted window of a lease, with sums. Raises NotFound."""
    lease_rows.get_lease(lease_id=lease_id)
    return delivered.usage_report(lease_id=lease_id)
