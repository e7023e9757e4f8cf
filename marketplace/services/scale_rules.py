"""A reservation's rules, and what its tenant tells of the work: made, changed, deleted, read back.

`definition` is kept as it came in (sizes as {"memory_mib", "share_permille"}) and read here alone:
schedule {"zone", "windows": [{"days", "from", "to", "slice"}], "otherwise"}; load {"signal", "grow_at", "shrink_at",
"step"}; progress {"steps": [{"epoch", "slice"}]}. Clock times are "HH:MM", a day ends at "24:00".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import WrongState
from marketplace.matching import scaling
from marketplace.matching.scaling import Size
from marketplace.models import ENDED, Reach, Reservation, ScaleKind, ScaleRule, ScaleSignal
from marketplace.services._transition import amend
from plumbing import db
from plumbing.errors import Invalid, NotFound

MOST_RULES = 8


class WrongRule(Invalid):
    code = "wrong_rule"
    title = "The rule could never be kept."


@db.transaction
def create_rule(
    *, reach: Reach, reservation_id: UUID, values: Mapping[str, Any], actor: str, now: datetime
) -> ScaleRule:
    """Raises NotFound, WrongState for a reservation that has ended, WrongRule."""
    row = _open(locks.lock_reservation(reservation_id=reservation_id, reach=reach))
    if ScaleRule.objects.filter(reservation=row).count() >= MOST_RULES:
        raise WrongRule(f"It has {MOST_RULES} rules already.", suggestion="Delete or change one of them.")
    rule = ScaleRule(
        tenant_id=row.tenant_id, reservation=row, created_at=now, changed_at=now, changed_by=actor[:80],
        **_columns(row, values),
    )  # fmt: skip
    _check(rule)
    rule.save(force_insert=True)
    return rule


@db.transaction
def update_rule(
    *, reach: Reach, reservation_id: UUID, rule_id: UUID, values: Mapping[str, Any], actor: str, now: datetime
) -> ScaleRule:
    """The whole of it, anew. Raises as `create_rule`."""
    row = _open(locks.lock_reservation(reservation_id=reservation_id, reach=reach))
    rule = _rule_of(row, rule_id)
    for name, value in {**_columns(row, values), "changed_at": now, "changed_by": actor[:80]}.items():
        setattr(rule, name, value)
    _check(rule)
    rule.save()
    return rule


@db.transaction
def delete_rule(*, reach: Reach, reservation_id: UUID, rule_id: UUID) -> None:
    """What it decided stays on record, and the size stays as it is. Raises NotFound."""
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    _rule_of(row, rule_id).delete()


@db.transaction
def tell(
    *, reach: Reach, reservation_id: UUID, signals: Mapping[str, int], checkpointed: bool, now: datetime
) -> Reservation:
    """What the work says of itself; the last word of each name counts. Raises NotFound, WrongState."""
    row = _open(locks.lock_reservation(reservation_id=reservation_id, reach=reach))
    for name, value in sorted(signals.items()):
        ScaleSignal.objects.update_or_create(
            reservation=row, name=name,
            defaults={"tenant_id": row.tenant_id, "value": value, "at": now}, create_defaults={
                "tenant_id": row.tenant_id, "value": value, "at": now, "created_at": now,
            },
        )  # fmt: skip
    return amend(row, checkpointed_at=now) if checkpointed else row


def list_rules(*, reach: Reach, reservation_id: UUID) -> QuerySet[ScaleRule]:
    """For paging. Raises NotFound."""
    return ScaleRule.objects.filter(reservation=selectors.get_reservation(reservation_id=reservation_id, reach=reach))


def _open(row: Reservation) -> Reservation:
    if row.state in ENDED:
        raise WrongState(f"It is {row.state}.", suggestion="Make a new reservation.", state=row.state)
    return row


def _rule_of(row: Reservation, rule_id: UUID) -> ScaleRule:
    rule = ScaleRule.objects.filter(reservation=row, pk=rule_id).first()
    if rule is None:
        raise NotFound("There is no such rule.", suggestion="See /api/v1/reservations/{id}/scale-rules.")
    return rule


def _columns(row: Reservation, values: Mapping[str, Any]) -> dict[str, Any]:
    """The zone is the account's unless the schedule names one."""
    kind = ScaleKind(values["kind"])
    definition = dict(values[str(kind)] or {})
    if not definition:
        raise WrongRule(f"A rule of this kind has {kind}.", suggestion=f"Send {kind}: {{...}}.")
    if kind == ScaleKind.SCHEDULE and not definition.get("zone"):
        definition["zone"] = billing.get_account(tenant_id=row.tenant_id).zone
    return {
        "kind": kind, "is_enabled": values["enabled"], "cool_down_s": values["cool_down_s"], "definition": definition,
        "min_permille": values["min"]["share_permille"], "min_mib": values["min"]["memory_mib"],
        "max_permille": values["max"]["share_permille"], "max_mib": values["max"]["memory_mib"],
    }  # fmt: skip


def _check(rule: ScaleRule) -> None:
    try:
        scaling.check(read(rule))
    except ValueError as error:
        raise WrongRule(str(error), suggestion="See docs/scaling.md.") from error


def read(rule: ScaleRule) -> scaling.Rule:
    """The row as the pure rules know it. Raises ValueError."""
    return scaling.Rule(
        id=rule.pk, body=_body(ScaleKind(rule.kind), rule.definition), least=Size(rule.min_permille, rule.min_mib),
        most=Size(rule.max_permille, rule.max_mib), cool_down=timedelta(seconds=rule.cool_down_s),
    )  # fmt: skip


def _body(kind: ScaleKind, told: Mapping[str, Any]) -> scaling.Schedule | scaling.Load | scaling.Progress:
    if kind == ScaleKind.LOAD:
        return scaling.Load(told["signal"], told["grow_at"], told["shrink_at"], _size(told["step"]))
    if kind == ScaleKind.PROGRESS:
        return scaling.Progress(tuple((step["epoch"], _size(step["slice"])) for step in told["steps"]))
    windows = tuple(
        scaling.Window(frozenset(one["days"]), _minute(one["from"]), _minute(one["to"]), _size(one["slice"]))
        for one in told["windows"]
    )
    return scaling.Schedule(told["zone"], windows, _size(told["otherwise"]))


def _size(told: Mapping[str, int]) -> Size:
    return Size(told["share_permille"], told["memory_mib"])


def _minute(text: str) -> int:
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)
