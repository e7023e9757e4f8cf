"""Set semantics of charges: what must be reversed and what added so that a bucket holds exactly the wanted items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

from billing.rating.money import PriceTooFine, canonical_price
from billing.rating.proration import split_item
from vxpu.money import ChargeItem, ChargeKind

BIGINT_MAX = 2**63 - 1
TEXT_MAX = 500
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
KINDS = frozenset(str(kind) for kind in ChargeKind)


class BadItem(ValueError):
    """The item cannot be charged; the message says why."""


@dataclass(frozen=True, slots=True)
class Revision:
    """`superseded` are the ids of live charges to reverse, `added` the items to insert."""

    superseded: tuple[UUID, ...]
    added: tuple[ChargeItem, ...]


def _check(item: ChargeItem) -> None:
    if item.kind not in KINDS:
        raise BadItem(f"{item.kind!r} is not a kind of charge")
    if item.starts_at.tzinfo is None or item.ends_at.tzinfo is None:
        raise BadItem("service times need a zone")
    if item.ends_at <= item.starts_at:
        raise BadItem("the service ends before it starts")
    if not 0 <= item.quantity <= BIGINT_MAX or not 1 <= item.divisor <= BIGINT_MAX:
        raise BadItem(f"quantity {item.quantity} or divisor {item.divisor} is out of range")
    if not item.unit_price.is_finite() or not 0 <= item.unit_price < 10**10:
        raise BadItem(f"unit price {item.unit_price} is out of range")
    if not item.text.strip() or len(item.text) > TEXT_MAX or CONTROL.search(item.text):
        raise BadItem(f"a charge needs a text of at most {TEXT_MAX} characters, without control characters")


def _canonical(item: ChargeItem) -> ChargeItem:
    _check(item)
    try:
        price = canonical_price(item.unit_price)
    except PriceTooFine as error:
        raise BadItem(str(error)) from error
    return replace(
        item,
        kind=str(item.kind),
        starts_at=item.starts_at.astimezone(UTC),
        ends_at=item.ends_at.astimezone(UTC),
        unit_price=price,
    )


def sort_key(item: ChargeItem) -> tuple[datetime, datetime, str, bytes, int, str]:
    """One order for all, whatever order the items came in."""
    return item.starts_at, item.ends_at, item.kind, item.price_id.bytes, item.divisor, item.text


def _merged(items: Iterable[ChargeItem]) -> list[ChargeItem]:
    """Items that differ in their quantity only become one."""
    sums: dict[ChargeItem, int] = {}
    for item in items:
        bare = replace(item, quantity=0)
        sums[bare] = sums.get(bare, 0) + item.quantity
        if sums[bare] > BIGINT_MAX:
            raise BadItem("the quantities are too large together")
    return sorted((replace(bare, quantity=total) for bare, total in sums.items()), key=sort_key)


def _refuse_clashes(items: Sequence[ChargeItem]) -> None:
    by_meter = sorted(items, key=lambda item: (item.kind, item.price_id.bytes, item.starts_at))
    for one, next_one in pairwise(by_meter):
        same_meter = (one.kind, one.price_id) == (next_one.kind, next_one.price_id)
        if same_meter and next_one.starts_at < one.ends_at:
            raise BadItem(f"{one.kind} time from {next_one.starts_at.isoformat()} is charged twice at one price")


def canonical_items(items: Iterable[ChargeItem], borders: Iterable[datetime] = ()) -> list[ChargeItem]:
    """The items cut at the borders of billing periods, in one order and one form; equal sets give equal lists.

    Raises BadItem for an impossible item, or for two that charge the same time twice.
    """
    edges = list(borders)
    merged = _merged(part for item in items for part in split_item(_canonical(item), edges))
    _refuse_clashes(merged)
    return merged


def revise(live: Mapping[UUID, ChargeItem], wanted: Sequence[ChargeItem]) -> Revision:
    """Compares what is charged with what should be. Equal items stay; the rest is reversed and charged anew."""
    missing = set(wanted)
    superseded = []
    for charge_id, item in live.items():
        if item in missing:
            missing.remove(item)
        else:
            superseded.append(charge_id)
    return Revision(tuple(sorted(superseded)), tuple(sorted(missing, key=sort_key)))
