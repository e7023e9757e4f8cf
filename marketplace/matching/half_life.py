"""Use that is forgotten by halves, in integers and on a grid: any way to the same step gives the same figure.

Time is cut into steps of `STEP_S` from the epoch on. A closed step's held capacity (unit-seconds) is added whole, and
what was there before is multiplied by 2^(-STEP_S / half-life), kept as a fraction of 2^32 and rounded down.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext

STEP_S = 300
_SHIFT = 32


def step_factor(half_life_s: int) -> int:
    """2^32 x 2^(-STEP_S / half_life_s), rounded down."""
    with localcontext(prec=40):
        return int(Decimal(2) ** (_SHIFT - Decimal(STEP_S) / half_life_s))


def forget(use: int, *, held: Iterable[int], factor: int) -> int:
    """What is remembered after these steps, oldest first; one value a step."""
    for more in held:
        use = (use * factor >> _SHIFT) + more
    return use
