"""A window as the CloudEvent that is sent, serialised once: what is hashed, spooled, signed and posted is one text."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from agent.meter import Window
from vxpu.wire.usage import UsageData, UsageEvent

FIRST_HASH = ""


def event_id(lease_id: str, start_s: int) -> str:
    """The natural key as text: a window sent twice is one window."""
    return f"{lease_id}/{start_s}"


def to_event(
    window: Window, *, node_id: str, lease_id: str, seq: int, prev_hash: str, offset_ms: int, mono_ns: int
) -> UsageEvent:
    start = datetime.fromtimestamp(window.start_s, UTC)
    return UsageEvent(
        id=event_id(lease_id, window.start_s),
        source=f"/agents/{node_id}",
        subject=lease_id,
        time=datetime.fromtimestamp(window.start_s + window.window_s, UTC),
        data=UsageData(
            window_start=start,
            window_s=window.window_s,
            token=window.token,
            granted_permille_s=window.granted_permille_s,
            used_permille_s=window.used_permille_s,
            granted_mib_s=window.granted_mib_s,
            peak_mib=window.peak_mib,
            throttled_ms=window.throttled_ms,
            state=window.state,
            contended=window.contended,
            seq=seq,
            prev_hash=prev_hash,
            clock_offset_ms=offset_ms,
            mono_ns=mono_ns,
        ),
    )


def chain_hash(raw: str) -> str:
    """sha256 hex of an event as sent."""
    return hashlib.sha256(raw.encode()).hexdigest()
