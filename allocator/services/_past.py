"""What was asked of the fleet in a past period, as plain values that a simulation keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median_low
from typing import Any
from uuid import UUID

from django.db.models import Q

from allocator.engine.fleet import FOREVER, Ask
from allocator.engine.replay import Request
from allocator.models import Lease, Relocation, Segment
from allocator.services._snapshot import RANKS, ask_of, to_instant
from vxpu.foresight import PastWish
from vxpu.states import Isolation

Plain = dict[str, Any]
HOUR = 3_600_000_000


def asked_in(*, from_at: datetime, to_at: datetime, known: Sequence[PastWish], now: datetime) -> list[Plain]:
    """By arrival: `known`, and of everyone else's leases those that ran in the period.

    What ran at its beginning arrives then, for the rest of its time. What has not ended has run until now; what never
    ran and had no end, as long as half of the others.
    """
    owners = {owner for one in known for owner in one.owners}
    found = [_known(one) for one in known] + list(_leases(from_at, to_at, owners, now))
    begin, end = to_instant(from_at), to_instant(to_at)
    inside = []
    for one in found:
        over = FOREVER if one["lasts"] is None else one["arrives"] + one["lasts"]
        if one["arrives"] < end and over > begin:
            late = max(0, begin - one["arrives"])
            lasts = None if one["lasts"] is None else one["lasts"] - late
            inside.append({**one, "arrives": one["arrives"] + late, "lasts": lasts})
    usual = median_low([one["lasts"] for one in inside if one["lasts"] is not None] or [HOUR])
    for one in inside:
        one["lasts"] = usual if one["lasts"] is None else one["lasts"]
    return sorted(inside, key=lambda one: (one["arrives"], one["permille"], one["mib"]))


def request_of(plain: Plain) -> Request:
    """For the engine."""
    ask = Ask(
        permille=plain["permille"], mib=plain["mib"], starts=0, whole=plain["whole"], kind=plain["kind"],
        isolation_rank=plain["isolation_rank"], devices=plain["devices"], copy_permille=plain["copy_permille"],
        cores_milli=plain["cores_milli"], host_mib=plain["host_mib"],
        models=frozenset(plain["models"]) or None, pool=plain["pool"], site=plain["site"],
    )  # fmt: skip
    return Request(
        arrives=plain["arrives"], duration=max(1, plain["lasts"]), ask=ask, rank=plain["rank"],
        patience=plain["patience"], owner=UUID(plain["owner"]),
    )  # fmt: skip


def _plain(ask: Ask, **more: Any) -> Plain:
    return {
        "permille": ask.permille, "mib": ask.mib, "whole": ask.whole, "kind": ask.kind,
        "isolation_rank": ask.isolation_rank, "devices": ask.devices, "copy_permille": ask.copy_permille,
        "cores_milli": ask.cores_milli, "host_mib": ask.host_mib, "models": sorted(ask.models or ()),
        "pool": ask.pool, "site": ask.site, **more,
    }  # fmt: skip


def _known(one: PastWish) -> Plain:
    """Several devices on one node are one request: the wish's `devices`."""
    ask, period = ask_of(one.wish), one.wish.period
    lasts = None if period.ends_at is None else to_instant(period.ends_at) - to_instant(period.starts_at)
    plain = _plain(
        ask, arrives=to_instant(one.arrived_at), lasts=lasts, rank=one.rank, owner=str(one.owners[0]),
        patience=None if one.patience_s is None else one.patience_s * 1_000_000,
    )  # fmt: skip
    return {**plain, "devices": one.wish.devices}


def _leases(from_at: datetime, to_at: datetime, known: set[UUID], now: datetime) -> Iterator[Plain]:
    """Of owners that are not known. A lease that took over another's work is the same request going on."""
    ran = ~Q(state__in=["gone", "lost"]) | Q(ready_at__isnull=False)
    rows = Lease.objects.filter(ran, starts_at__lt=to_at).filter(Q(ended_at__isnull=True) | Q(ended_at__gt=from_at))
    ends = _ends_of_moved()
    first = _first_pieces(rows.values_list("pk", flat=True))
    for lease in rows.exclude(owner__in=known).exclude(moved_by__switched_at__isnull=False).order_by("pk"):
        ended = min((ends.get(lease.pk, lease.ended_at or lease.ends_at)) or now, now)
        piece = first.get(lease.pk)
        if piece is None or ended <= lease.starts_at:
            continue
        yield _plain(
            _ask_of(lease, piece), arrives=to_instant(lease.starts_at),
            lasts=to_instant(ended) - to_instant(lease.starts_at), rank=0, patience=0, owner=str(lease.owner),
        )  # fmt: skip


def _ends_of_moved() -> dict[UUID, datetime | None]:
    """When the work of a lease that was moved ended: at the end of the last that took over."""
    moves = Relocation.objects.filter(switched_at__isnull=False).values_list("lease_id", "successor_id")
    following = {lease: successor for lease, successor in moves if successor is not None}
    last = {lease: _last(lease, following) for lease in following}
    ended = dict(Lease.objects.filter(pk__in=set(last.values())).values_list("pk", "ended_at"))
    return {lease: ended.get(end) for lease, end in last.items()}


def _last(lease: UUID, following: Mapping[UUID, UUID]) -> UUID:
    while lease in following:
        lease = following[lease]
    return lease


def _first_pieces(leases: Iterable[UUID]) -> dict[UUID, Segment]:
    """The size that a lease began with."""
    found: dict[UUID, Segment] = {}
    for segment in Segment.objects.filter(lease__in=leases).order_by("-created_at", "-pk"):
        found[segment.lease_id] = segment
    return found


def _ask_of(lease: Lease, piece: Segment) -> Ask:
    wanted = lease.wanted or {}
    isolation = Isolation(wanted.get("isolation") or Isolation.EXCLUSIVE)
    return Ask(
        permille=piece.permille, mib=piece.mib, starts=0, whole=lease.whole, kind=wanted.get("kind"),
        isolation_rank=None if isolation == Isolation.EXCLUSIVE else RANKS[isolation],
        copy_permille=piece.copy_permille,
        cores_milli=piece.cores_milli, host_mib=piece.host_mib,
        models=frozenset(wanted.get("models") or ()) or None, pool=wanted.get("pool"), site=wanted.get("site"),
    )  # fmt: skip
