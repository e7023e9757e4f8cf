"""Who takes turns on a card whose memory is oversubscribed, and when: the guard against thrash. Pure.

The driver pages managed memory in when it is used. Slices that together keep more than the card holds displace each
other's pages at every change between them, and a card changes every other millisecond. So they take long turns: in its
turn a slice may take what all of them bought, outside it its gate is held, which comes to its share over a cycle.
The plan is a function of the clock, and each turn is written ahead with its end: an agent that dies holds nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CYCLE_NS = 1_000_000_000
# Long enough for an agent that looks each 50 ms to be there in every turn; small shares make the cycle longer.
LEAST_TURN_NS = 100_000_000
# At the end of a turn the gate is held and what was launched (8 ms at most) comes to its end. The gate earns that time
# all the same (VX_HOLD_EARNS_NS): it is the slice's, and is had in its next turn.
DRAIN_NS = 12_000_000


@dataclass(frozen=True, slots=True)
class Sharer:
    """A slice of the card. `kept_bytes` is all that it keeps, on the card or not; `spill_bytes` what may be off it."""

    share_permille: int
    kept_bytes: int
    spill_bytes: int

    @property
    def spills(self) -> bool:
        return self.spill_bytes > 0 and self.share_permille > 0


@dataclass(frozen=True, slots=True)
class Turn:
    """The hold that a slice is in, or its next one; and what it may take beyond its share to the end of its turn."""

    hold_from_ns: int = 0
    hold_until_ns: int = 0
    lend_permille: int = 0
    lend_until_ns: int = 0
    cycle_ns: int = 0


NO_TURN = Turn()


def must_take_turns(sharers: Sequence[Sharer], *, other_bytes: int, card_bytes: int) -> bool:
    """Whether those who spill displace each other: two at least, on a card that can't hold what everybody keeps."""
    kept = other_bytes + sum(one.kept_bytes for one in sharers)
    return sum(one.spills for one in sharers) > 1 and card_bytes > 0 and kept > card_bytes


def turns(shares: Sequence[int], *, now_ns: int, least_ns: int = CYCLE_NS) -> list[Turn]:
    """The turns of slices with these shares, one after the other, each as long as its share of the cycle.

    Who has 0 here takes none, nor does anybody who would be alone. `least_ns` is the shortest cycle.
    """
    takers = [share for share in shares if share > 0]
    if len(takers) <= 1:
        return [NO_TURN] * len(shares)
    whole = sum(takers)
    cycle_ns = max(least_ns, LEAST_TURN_NS * whole // min(takers))
    plan, before = [], 0
    for share in shares:
        began_ns = now_ns - now_ns % cycle_ns
        start_ns, end_ns = (began_ns + cycle_ns * part // whole for part in (before, before + share))
        before += share
        if now_ns < start_ns:  # held since its turn in the cycle before
            start_ns, end_ns = start_ns - cycle_ns, end_ns - cycle_ns
        plan.append(_turn(start_ns, end_ns - DRAIN_NS, now_ns, cycle_ns, whole - share) if share else NO_TURN)
    return plan


def _turn(start_ns: int, end_ns: int, now_ns: int, cycle_ns: int, lend_permille: int) -> Turn:
    """While it is held its next turn's loan is written: that begins with it, whether the agent looks or not."""
    lend_until_ns = end_ns if now_ns < end_ns else end_ns + cycle_ns
    return Turn(end_ns, start_ns + cycle_ns, lend_permille, lend_until_ns, cycle_ns)
