"""The feed of events: what happened, newest first, merged from the rows that hold it already.

Reservations tell by their transitions, leases by theirs, invoices, prices, the audit log and nodes by themselves; only
what no row tells is a notice of its own. Nothing is copied, so there is one truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any
from uuid import UUID

from allocator import facade as allocator
from billing import facade as billing
from identity import facade as identity
from marketplace import selectors
from marketplace.models import Reach, ReservationState
from plumbing.feed import Place
from vxpu.ids import BadId, decode, encode

INFO, WARNING, ERROR = "info", "warning", "error"
SYSTEM = "system"
S = ReservationState
_GRAVE = {
    f"reservation.{S.FAILED}": ERROR, f"reservation.{S.MOVING}": WARNING, f"reservation.{S.EXPIRED}": WARNING,
    f"reservation.{S.PREEMPTING}": WARNING, f"reservation.{S.SUSPENDED}": WARNING, "lease.unreachable": WARNING,
    "lease.lost": ERROR, "session.refused": WARNING, "node.offline": ERROR, "node.revoked": WARNING,
}  # fmt: skip
_STATES = {"changed": str(S.RESIZING)}
# The ids of the audit log are bare; the first word of the action says of what.
_PREFIXES = {
    "token": "tok", "session": "ses", "member": "mem", "project": "prj", "tenant": "ten", "operator": "usr",
    "password": "usr",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks. `tenant_id` None is an operator, who sees all; `actor_id` limits the audit log to his own deeds."""

    reach: Reach
    tenant_id: UUID | None
    actor_id: UUID | None
    sees_money: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEvent:
    """`subject` is a public id, `data` JSON types."""

    id: UUID
    at: datetime
    kind: str
    subject: str
    subject_name: str
    actor: str
    reason: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        return _GRAVE.get(self.kind, INFO)

    @property
    def place(self) -> Place:
        return Place(self.at, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`kind` is one, or a beginning up to a dot (``"reservation"``); `subject` a public id; empty is all."""

    kind: str
    subject: str
    before: Place | None
    limit: int

    @property
    def word(self) -> str:
        """What the kind says after the dot."""
        return self.kind.partition(".")[2]

    def may_be(self, *rooms: str) -> bool:
        return not self.kind or self.kind.split(".")[0] in rooms

    def wants(self, event: FeedEvent) -> bool:
        fits = not self.kind or event.kind == self.kind or event.kind.startswith(f"{self.kind}.")
        return fits and self.subject in {"", event.subject}

    def subject_id(self, prefix: str) -> UUID | None:
        """The subject if it is of that sort."""
        try:
            return decode(prefix, self.subject)
        except BadId:
            return None


Source = Callable[[Viewer, Question], list[FeedEvent]]


def list_events(*, viewer: Viewer, kind: str, subject: str, before: Place | None, limit: int) -> list[FeedEvent]:
    """At most `limit` older than `before`, newest first."""
    asked = Question(kind=kind, subject=subject, before=before, limit=limit)
    streams = [_stream(source, viewer, asked) for source in SOURCES]
    return list(islice(merge(*streams, key=lambda event: event.place, reverse=True), limit))


def _stream(source: Source, viewer: Viewer, asked: Question) -> Iterator[FeedEvent]:
    """What the source has and the question wants; a source that cannot filter is read on until it is through."""
    before = asked.before
    while True:
        page = source(viewer, Question(kind=asked.kind, subject=asked.subject, before=before, limit=asked.limit))
        yield from (event for event in page if asked.wants(event))
        if len(page) < asked.limit:
            return
        before = page[-1].place


def _transitions(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if not asked.may_be("reservation") or (asked.subject and asked.subject_id("rsv") is None):
        return []
    rows = selectors.list_transitions(
        reach=viewer.reach, reservation_id=asked.subject_id("rsv"), before=asked.before, limit=asked.limit,
        to_state=_STATES.get(asked.word, asked.word),
    )  # fmt: skip
    return [
        FeedEvent(
            id=row.pk, at=row.at,
            kind="reservation.changed" if row.to_state == S.RESIZING else f"reservation.{row.to_state}",
            subject=encode("rsv", row.reservation_id), subject_name=row.reservation.name, actor=row.actor,
            reason=row.reason, data={"from_state": row.from_state, "to_state": row.to_state, "version": row.version},
        )
        for row in rows
    ]  # fmt: skip


def _notices(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if not asked.may_be("reservation", "quota"):
        return []
    rows = selectors.list_notices(reach=viewer.reach, subject=asked.subject, before=asked.before, limit=asked.limit)
    return [
        FeedEvent(
            id=row.pk, at=row.created_at, kind=row.kind, subject=row.subject, subject_name=row.data.get("name", ""),
            actor=row.actor, reason=row.reason, data=row.data,
        )
        for row in rows
    ]  # fmt: skip


def _leases(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if not asked.may_be("lease") or (asked.subject and asked.subject_id("lse") is None):
        return []
    owners = None if viewer.reach.project_ids is None else list(viewer.reach.rows().values_list("pk", flat=True))
    rows = allocator.list_lease_news(
        tenant_id=viewer.tenant_id, owners=owners, lease_id=asked.subject_id("lse"), before=asked.before,
        limit=asked.limit,
    )  # fmt: skip
    names = viewer.reach.rows().in_bulk({row.owner for row in rows}) if rows else {}
    return [
        FeedEvent(
            id=row.id, at=row.at, kind=f"lease.{_lease_word(row.to_state)}", subject=encode("lse", row.lease_id),
            subject_name=names[row.owner].name if row.owner in names else "", actor=row.actor, reason=row.reason,
            data={"from_state": row.from_state, "to_state": row.to_state, "reservation": encode("rsv", row.owner)},
        )
        for row in rows
    ]  # fmt: skip


def _lease_word(to_state: str) -> str:
    return to_state if to_state in {"unreachable", "lost"} else "recovered"


def _prices(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if not asked.may_be("price") or (asked.subject and asked.subject_id("prc") is None):
        return []
    rows = selectors.list_published(tenant_id=viewer.tenant_id, before=asked.before, limit=asked.limit)
    return [
        FeedEvent(
            id=row.pk, at=row.created_at, kind="price.published", subject=encode("prc", row.pk), subject_name=row.sku,
            actor=SYSTEM, reason="",
            data={
                "sku": row.sku, "meter": row.meter, "unit_price": f"{row.unit_price:f}", "currency": row.currency,
                "valid_from": row.valid.lower.isoformat(),
            },
        )
        for row in rows
    ]  # fmt: skip


def _invoices(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if not viewer.sees_money or not asked.may_be("invoice"):
        return []
    rows = billing.list_issued(tenant_id=viewer.tenant_id, before=asked.before, limit=asked.limit)
    return [
        FeedEvent(
            id=row.id, at=row.issued_at, kind="invoice.issued", subject=encode("inv", row.id), subject_name=row.number,
            actor=SYSTEM, reason="", data={"total": f"{row.total:f}", "currency": row.currency},
        )
        for row in rows
    ]  # fmt: skip


def _audit(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    room, word = asked.kind.split(".")[0], asked.word
    if room and room not in _PREFIXES:
        return []
    rows = identity.list_audit(
        tenant_id=viewer.tenant_id, actor_id=viewer.actor_id, before=asked.before, limit=asked.limit,
        action=f"{room}.{word}" if room else "",
    )  # fmt: skip
    return [
        FeedEvent(
            id=row.id, at=row.at, kind=row.action, subject=_audit_subject(row.action, row.subject),
            subject_name=str(row.data.get("name", "")),
            actor=SYSTEM if row.actor_id is None else f"user:{encode('usr', row.actor_id)}", reason="",
            data=dict(row.data),
        )
        for row in rows
    ]  # fmt: skip


def _audit_subject(action: str, subject: str) -> str:
    try:
        return encode(_PREFIXES[action.split(".", maxsplit=1)[0]], UUID(subject))
    except (KeyError, ValueError):  # a word, as "unknown user"
        return subject


def _nodes(viewer: Viewer, asked: Question) -> list[FeedEvent]:
    if viewer.tenant_id is not None or not asked.may_be("node"):
        return []
    rows = allocator.list_node_events(before=asked.before, limit=asked.limit)
    return [
        FeedEvent(
            id=row.id, at=row.at, kind=f"node.{row.kind}", subject=encode("nod", row.node_id),
            subject_name=row.hostname, actor=row.actor, reason=row.reason,
        )
        for row in rows
    ]  # fmt: skip


SOURCES: tuple[Source, ...] = (_transitions, _notices, _leases, _prices, _invoices, _audit, _nodes)
