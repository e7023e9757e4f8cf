"""How far placing one after the other is from the best packing, found by trying every one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from uuid import UUID

import pytest

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, Fleet
from allocator.engine.policies import POLICIES
from allocator.engine.search import Ranker
from tests.allocator.engine.strategies import make_ask, make_card

SIZES = [(100, 10), (200, 60), (300, 30), (500, 50), (600, 20), (800, 80), (1000, 100)]


def sequences() -> list[list[tuple[int, int]]]:
    rng = random.Random(5)  # noqa: S311 - the same cases for everybody
    return [[rng.choice(SIZES) for _ in range(rng.randint(6, 10))] for _ in range(120)]


def best_packing(sizes: Sequence[tuple[int, int]], cards: int = 3) -> int:
    """The most permille that any choice and any assignment places."""

    @cache
    def best(at: int, left: tuple[tuple[int, int], ...]) -> int:
        if at == len(sizes):
            return 0
        permille, mib = sizes[at]
        found = best(at + 1, left)
        for number, (compute, memory) in enumerate(left):
            if permille <= compute and mib <= memory and (number == 0 or left[number] != left[number - 1]):
                rest = sorted((*left[:number], (compute - permille, memory - mib), *left[number + 1 :]))
                found = max(found, permille + best(at + 1, tuple(rest)))
        return found

    return best(0, ((1000, 100),) * cards)


def placed(asks: Sequence[Ask], policy: str | None) -> int:
    """Permille placed one after the other; without a policy on the first card that fits."""
    draft, total = Draft.of(Fleet.of(make_card(number) for number in (1, 2, 3))), 0
    view = draft.view(0, 10)
    ranker = Ranker(view, POLICIES[policy or "binpack"])
    for number, ask in enumerate(asks):
        found = ranker.best(ask)
        if found is not None:
            row = int(view.fits(ask, slice(None))[:, 0].argmax()) if policy is None else found.row
            draft.take(row, (0,), ask, lease_id=UUID(int=number))
            total += ask.permille
    return total


@pytest.mark.parametrize(("policy", "mean", "worst"), [("binpack", 88, 50), ("fragmentation", 88, 50)])
def test_the_gap_to_the_best_packing_is_as_stated(policy: str, mean: int, worst: int) -> None:
    """In % of a packing that knows what will come: so much on average, and never less than `worst`; and on average no
    worse than the first card that fits."""
    shares, first_fit = [], []
    for sizes in sequences():
        asks = [make_ask(0, 10, permille=permille, mib=mib) for permille, mib in sizes]
        best = best_packing(sizes)
        shares.append(100 * placed(asks, policy) // best)
        first_fit.append(100 * placed(asks, None) // best)
    assert sum(shares) / len(shares) >= mean
    assert min(shares) >= worst
    assert sum(shares) >= sum(first_fit)
