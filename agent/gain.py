"""What a card's time really cost against what the guest's events said, and what the guest did not debit. Pure.

A completion event measures from start to end, other tenants' time slices included; NVML counts what one process really
had. gain = real busy / measured, and every debit is measured x gain. `measured_ns` and `debited_ns` are the guest's
word: a lie moves the gain within its clamp, and what was busy beyond what was debited comes back as the agent's debit.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.meter import SECOND_NS

WHOLE_PPM = 1_000_000
LEAST_PPM = 100_000
MOST_PPM = 1_500_000
SHORTEST_NS = SECOND_NS // 4
LONGEST_NS = 5 * SECOND_NS
# So much time seen by both meters is as good as certain; less moves the gain in proportion.
FULL_EVIDENCE_NS = SECOND_NS // 5
# Meters are read at different moments and NVML rounds: less than this is no debt.
TOLERANCE_NS = 20_000_000
# A debit may come before its kernel runs; one that is further ahead is not kept as a credit for later.
MOST_CREDIT_NS = SECOND_NS // 2


@dataclass(frozen=True, slots=True)
class GainReading:
    """Running totals at one instant: what the card did for the slice, and what the slice's own events measured."""

    mono_ns: int
    busy_ns: int
    measured_ns: int


def next_gain_ppm(before: GainReading, after: GainReading, *, current_ppm: int) -> int:
    """The gain after an interval, in parts per million, within LEAST_PPM..MOST_PPM.

    It stands still where nothing can be learnt: an interval too short or too long, a counter that fell (a region made
    anew), a silent guest, and a long kernel that one meter has seen and the other has not yet.
    """
    length_ns = after.mono_ns - before.mono_ns
    busy_ns = min(after.busy_ns - before.busy_ns, length_ns)  # a slice can't have more of one card than all of it
    measured_ns = after.measured_ns - before.measured_ns
    current_ppm = _clamp(current_ppm)
    if not SHORTEST_NS <= length_ns <= LONGEST_NS or busy_ns <= 0 or measured_ns <= 0:
        return current_ppm
    target_ppm = _clamp(busy_ns * WHOLE_PPM // measured_ns)
    evidence_ns = min(busy_ns, measured_ns, FULL_EVIDENCE_NS)
    return _clamp(current_ppm + (target_ppm - current_ppm) * evidence_ns // FULL_EVIDENCE_NS)


def _clamp(ppm: int) -> int:
    return min(MOST_PPM, max(LEAST_PPM, ppm))


@dataclass(frozen=True, slots=True)
class Debt:
    """What a slice's processes had of the card and did not debit: `balance_ns` now, `debit_ns` in all so far."""

    balance_ns: int = 0
    debit_ns: int = 0


def settle(debt: Debt, *, busy_ns: int, debited_ns: int) -> Debt:
    """Fold in what an interval brought. The agent debits only what was owed at two looks in a row.

    A kernel that ends is busy first and debited a moment later; a process that was killed, or one whose library was
    patched, never debits. `debited_ns` below zero (a counter that fell, or a lie) counts as none.
    """
    balance_ns = debt.balance_ns + max(0, busy_ns) - max(0, debited_ns)
    owed_ns = min(debt.balance_ns, balance_ns)
    if owed_ns > TOLERANCE_NS:
        return Debt(balance_ns - owed_ns, debt.debit_ns + owed_ns)
    return Debt(max(-MOST_CREDIT_NS, balance_ns), debt.debit_ns)
