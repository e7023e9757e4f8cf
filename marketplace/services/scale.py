"""Scaling by rule: for each running reservation with rules, the size of now, by live resize.

What is decided is a pure function of the rows (marketplace/matching/scaling.py): the history of its decisions is all
that it remembers, written in the transaction that resizes. So a beat that dies, or runs twice, changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from marketplace import locks, selectors
from marketplace.matching import scaling
from marketplace.matching.scaling import Decision, History, Size
from marketplace.models import EVERYWHERE, Reservation, ScaleDecision, ScaleOutcome, ScaleRule, ScaleSignal
from marketplace.selectors.scaling import list_scaled
from marketplace.services.resize import resize_within
from marketplace.services.scale_rules import read
from plumbing import db
from plumbing.errors import DomainError

THROTTLE = "throttle"
EPOCH = "epoch"


def apply_rules(*, now: datetime) -> int:
    """Returns how many reservations got another size. One that cannot have it holds up no other."""
    return sum(_apply_one(reservation_id=pk, now=now) for pk in list_scaled())


def _apply_one(*, reservation_id: UUID, now: datetime) -> bool:
    found = _decide(reservation_id, now=now)
    if found is None:
        return False
    try:
        return _resize(reservation_id=reservation_id, wanted=found, now=now)
    except DomainError as error:
        _note_refusal(reservation_id=reservation_id, wanted=found, code=error.code, now=now)
        return False


def _decide(reservation_id: UUID, *, now: datetime) -> Decision | None:
    row = selectors.get_reservation(reservation_id=reservation_id)
    rules = list(ScaleRule.objects.filter(reservation=row, is_enabled=True).order_by("id"))
    return scaling.decide(
        [read(rule) for rule in rules], size=_size_of(row), readings=_readings(row, rules, now=now),
        history=history_of(row), now=now,
    )  # fmt: skip


def _size_of(row: Reservation) -> Size:
    return Size(row.share_permille, row.memory_mib)


def _readings(row: Reservation, rules: Sequence[ScaleRule], *, now: datetime) -> dict[str, int]:
    """What is fresh; an epoch stays true until the next one."""
    since = now - timedelta(seconds=settings.VXPU_SCALE_FRESH_S)
    told = ScaleSignal.objects.filter(reservation=row)
    found = {one.name: one.value for one in told if one.name == EPOCH or one.at >= since}
    if row.lease_id is not None and any(rule.definition.get("signal") == THROTTLE for rule in rules):
        starts_at = now - timedelta(seconds=settings.VXPU_SCALE_WINDOW_S)
        held_back = allocator.throttled_permille(lease_id=row.lease_id, starts_at=starts_at, ends_at=now)
        if held_back is not None:
            found[THROTTLE] = held_back
    return found


def history_of(row: Reservation) -> History:
    """The last change by a rule, and how often the size that was refused last was refused since."""
    decisions = ScaleDecision.objects.filter(reservation=row)
    changed = decisions.filter(outcome=ScaleOutcome.APPLIED).order_by("-at", "-id").first()
    refused = decisions.filter(outcome=ScaleOutcome.REFUSED)
    if changed is not None:
        refused = refused.filter(at__gt=changed.at)
    last = refused.order_by("-at", "-id").first()
    changed_at = None if changed is None else changed.at
    if last is None:
        return History(changed_at=changed_at)
    times = refused.filter(to_permille=last.to_permille, to_mib=last.to_mib).count()
    size = Size(last.to_permille, last.to_mib)
    return History(changed_at=changed_at, refused=size, refused_at=last.at, refusals=times)


@db.transaction
def _resize(*, reservation_id: UUID, wanted: Decision, now: datetime) -> bool:
    """Raises what a resize raises."""
    before = selectors.get_reservation(reservation_id=reservation_id)
    row = resize_within(
        reach=EVERYWHERE, reservation_id=reservation_id, memory_mib=wanted.size.mib,
        share_permille=wanted.size.permille, actor=f"rule:{wanted.rule}", now=now,
    )  # fmt: skip
    if row.version == before.version:  # another beat was quicker
        return False
    _note(row, before=_size_of(before), wanted=wanted, outcome=ScaleOutcome.APPLIED, now=now)
    return True


@db.transaction
def _note_refusal(*, reservation_id: UUID, wanted: Decision, code: str, now: datetime) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    _note(row, before=_size_of(row), wanted=wanted, outcome=ScaleOutcome.REFUSED, code=code, now=now)


@db.transaction_required
def _note(
    row: Reservation, *, before: Size, wanted: Decision, outcome: ScaleOutcome, now: datetime, code: str = ""
) -> None:
    rule = ScaleRule.objects.filter(pk=wanted.rule).first()
    if rule is None:  # deleted between two looks: then it decides nothing any more
        return
    ScaleDecision.objects.create(
        tenant_id=row.tenant_id, reservation=row, rule_id=wanted.rule, kind=rule.kind, outcome=outcome,
        reason=wanted.reason, code=code[:40], from_permille=before.permille, from_mib=before.mib,
        to_permille=wanted.size.permille, to_mib=wanted.size.mib, at=now, created_at=now,
    )  # fmt: skip
