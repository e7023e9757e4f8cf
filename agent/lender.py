"""Idle time of a card, lent to those who wait for more than their share (work-conserving mode). Pure.

Hard mode lends nothing. A loan is an amount on top of the share with an end at most 100 ms ahead, written into the
limits page: it lapses by itself, so its owner has the time back even if the agent dies with the loan open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vxpu.units import WHOLE_PERMILLE

LOAN_NS = 100_000_000
LOOK_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Demand:
    """One slice on the card. `used_permille` is what it took lately; `waits` whether launches stood at its gate."""

    share_permille: int
    weight: int
    waits: bool
    used_permille: int = 0
    priority: int = 0
    work_conserving: bool = True

    @property
    def room_permille(self) -> int:
        """What it could take on top of its share."""
        return max(0, WHOLE_PERMILLE - self.share_permille) if self.waits and self.work_conserving else 0


def idle_permille(demands: Sequence[Demand]) -> int:
    """What nobody takes of what was sold, and what was not sold: who waits is counted with its whole share."""
    kept = sum(
        one.share_permille if one.waits else min(one.share_permille, max(0, one.used_permille)) for one in demands
    )
    return max(0, WHOLE_PERMILLE - kept)


def lend(shares: Sequence[Demand], *, idle_permille: int) -> list[int]:
    """What each gets on top of its share, in permille: the higher priority first, within one by weight.

    Nobody gets more than makes a whole card; what one cannot take goes to the others of its class, then to the next.
    """
    loans = [0] * len(shares)
    left = max(0, min(WHOLE_PERMILLE, idle_permille))
    for priority in sorted({one.priority for one in shares}, reverse=True):
        members = [index for index, one in enumerate(shares) if one.priority == priority and one.room_permille > 0]
        given = _fill([shares[index] for index in members], left)
        for index, amount in zip(members, given, strict=True):
            loans[index] = amount
        left -= sum(given)
    return loans


def _fill(members: Sequence[Demand], amount: int) -> list[int]:
    """Water-filling: by weight, and whoever is full leaves the rest to the others; the last permille goes by rest."""
    given = [0] * len(members)
    open_ = set(range(len(members)))
    while open_ and amount > 0:
        whole = sum(max(1, members[index].weight) for index in open_)
        parts = {index: divmod(amount * max(1, members[index].weight), whole) for index in open_}
        full = {index for index in open_ if parts[index][0] >= members[index].room_permille - given[index]}
        if not full:
            spare = amount - sum(part for part, _ in parts.values())
            by_rest = sorted(open_, key=lambda index: (-parts[index][1], index))
            for index in open_:
                given[index] += parts[index][0] + (index in by_rest[:spare])
            break
        for index in full:
            amount -= members[index].room_permille - given[index]
            given[index] = members[index].room_permille
        open_ -= full
    return given
