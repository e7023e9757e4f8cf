"""Whether a measured window counts. Pure: the event, its lease, the receiver's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from allocator.models import Lease
from vxpu.states import LeaseState
from vxpu.units import WHOLE_PERMILLE
from vxpu.wire.usage import UsageEvent, UsageStatus

FUTURE_LEEWAY = timedelta(seconds=5)
CLOSING = (LeaseState.DRAINING, LeaseState.GONE, LeaseState.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the receiver knows: who sent it (`source` is the node's name in events), when it came, and the settings."""

    node_id: UUID
    source: str
    received_at: datetime
    window_s: int
    late_limit: timedelta


def judge(event: UsageEvent, lease: Lease | None, rules: Rules) -> tuple[UsageStatus, str]:
    """(ACCEPTED, "") or (REJECTED or QUARANTINED, reason). A rejected one cannot be this node's; a quarantined may."""
    reason = _wrong_source(event, lease, rules)
    if reason:
        return UsageStatus.REJECTED, reason
    reason = _implausible(event, lease)
    if reason:
        return UsageStatus.REJECTED, reason
    reason = _doubtful(event, lease, rules)
    return (UsageStatus.QUARANTINED, reason) if reason else (UsageStatus.ACCEPTED, "")


def window_end(event: UsageEvent) -> datetime:
    return event.data.window_start + timedelta(seconds=event.data.window_s)


def _wrong_source(event: UsageEvent, lease: Lease | None, rules: Rules) -> str:
    if event.source != rules.source:
        return "other_source"
    if lease is None:
        return "no_such_lease"
    if lease.node_id != rules.node_id:
        return "other_node"
    # After fencing, what was measured before it under the old token is still the lease's own use.
    fenced_by_then = lease.ended_at is not None and window_end(event) <= lease.ended_at
    if event.data.token != lease.token and not (event.data.token == lease.fenced_token and fenced_by_then):
        return "void_token"
    return ""


def _implausible(event: UsageEvent, lease: Lease | None) -> str:
    data = event.data
    if data.window_start.microsecond or int(data.window_start.timestamp()) % data.window_s:
        return "off_grid"
    most = WHOLE_PERMILLE * data.window_s
    if max(data.granted_permille_s, data.used_permille_s or 0) > most:
        return "more_than_the_device"
    if data.state in (LeaseState.HELD, LeaseState.ASSIGNED):
        return "not_running"
    if lease is not None and window_end(event) <= lease.starts_at:
        return "before_the_lease"
    if lease is not None and lease.ended_at is not None and data.window_start >= lease.ended_at:
        return "after_the_lease"
    return ""


def _doubtful(event: UsageEvent, lease: Lease | None, rules: Rules) -> str:
    # The last window of a lease is closed early: its grid end may be ahead, its start may not.
    latest = event.data.window_start if _is_closing(event, lease, rules) else window_end(event)
    if latest > rules.received_at + FUTURE_LEEWAY:
        return "ends_in_the_future"
    if event.data.window_start < rules.received_at - rules.late_limit:
        return "too_late"
    # Windows of two sizes could overlap and count twice: the key only de-duplicates equal starts.
    if event.data.window_s != rules.window_s:
        return "other_window_size"
    return ""


def _is_closing(event: UsageEvent, lease: Lease | None, rules: Rules) -> bool:
    if event.data.state in CLOSING or lease is None:
        return event.data.state in CLOSING
    return lease.state in CLOSING or (lease.ends_at is not None and lease.ends_at <= rules.received_at)
