"""A device's health from what its driver lets be read: 0 (do not use) to 100, None when nothing tells.

Each reading that says something of health gets a score of its own; the device's is the worst of them, since one bad
organ is enough. Temperature: 100 up to 75 degrees C and straight down to 0 at 100, where drivers slow or stop a card.
Uncorrected memory errors since the driver was loaded: 100 at none, 40 at one, 0 from five on. A reading that is too old
or could not be taken has no score: unknown is neither well nor ill.
"""

from __future__ import annotations

from collections.abc import Mapping

COOL_C, HOT_C = 75, 100
FIRST_ERROR, ERRORS_TO_NOTHING = 40, 5


def _temperature(value: int) -> int:
    return max(0, min(100, (HOT_C - value) * 100 // (HOT_C - COOL_C)))


def _memory_errors(value: int) -> int:
    if value <= 0:
        return 100
    return max(0, FIRST_ERROR * (ERRORS_TO_NOTHING - value) // (ERRORS_TO_NOTHING - 1))


SCORES = {"temperature_c": _temperature, "ecc_uncorrected": _memory_errors}


def score_of(name: str, value: int | None) -> int | None:
    """0 to 100 for a reading that says something of health, None for others and for the unknown."""
    scorer = SCORES.get(name)
    return None if scorer is None or value is None else scorer(value)


def health(values: Mapping[str, int | None]) -> int | None:
    """The worst score of the readings that have one."""
    scores = [score for name, value in values.items() if (score := score_of(name, value)) is not None]
    return min(scores, default=None)
