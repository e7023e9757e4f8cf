"""Accounting on a simulated card between processes that race, fork and die (cases 5, 6)."""

import pytest

from tests.native.card_guest import OK, play
from tests.native.conftest import CardRegion
from tests.native.guests import figures, run_tool
from tests.native.region import MIB

FAULTS = {"over": 0, "uneven": 0, "odd": 0, "crashed": 0}


@pytest.mark.parametrize(("processes", "rounds"), [(2, 10_000), (8, 1_000)])
def test_racers_at_a_barrier_never_exceed_the_limit_and_one_wins(
    card_region: CardRegion, processes: int, rounds: int
) -> None:
    cards, region = card_region(limit=1024 * MIB)
    out = run_tool("cuda_cycles", "race", str(processes), str(rounds), str(600 * MIB), env=cards.env(region))
    assert out == "over=0 lonely=0 bad=0"
    assert region.usage("peak_bytes") <= 1024 * MIB


@pytest.mark.parametrize("guaranteed", [64, 40], ids=["device", "spill"])
def test_random_lives_and_deaths_stay_below_the_limit_and_leave_nothing(
    card_region: CardRegion, guaranteed: int
) -> None:
    cards, region = card_region(limit=64 * MIB, soft_bytes=guaranteed * MIB, ctx_bytes=MIB // 4)
    seen = figures(run_tool("cuda_fuzz", "1", "8", "10000", env=cards.env(region)))
    assert {name: seen[name] for name in FAULTS} == FAULTS
    assert seen["steps"] >= 10_000
    assert region.usage("peak_bytes") <= guaranteed * MIB
    assert play(cards.env(region), "context 0", "alloc a 8m", "free a", "release 0") == [OK] * 4
    assert [region.used(field) for field in ("used_bytes", "ctx_bytes", "spill_bytes")] == [0, 0, 0]
    assert cards.used_bytes() == 0
