"""The accounting for long: random lives near the limit, each crash point over and over, races by the thousand."""

from __future__ import annotations

import pytest

from tests.native.conftest import MakeEnv, MakeRegion
from tests.native.guests import figures, run_tool
from tests.native.region import MIB
from tests.native.test_crash import POINTS, LedgerEnv, die_at
from tests.soak import SayFigures, scaled

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
LIMIT = 64 * 4096
FAULTS = ("over", "uneven", "crashed", "left")


def test_random_lives_and_deaths_stay_below_the_limit_and_leave_nothing(
    make_region: MakeRegion, ledger_env: LedgerEnv, say_figures: SayFigures
) -> None:
    total: dict[str, int] = {}
    for seed in range(10):
        region = make_region(f"region{seed}", limit=LIMIT)
        out = run_tool("fuzz", str(seed), "16", str(scaled(300_000)), env=ledger_env(region), timeout=300)
        seen = figures(out)
        assert {name: seen[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
        assert (region.used(), region.usage("peak_bytes")) == (0, LIMIT)
        total = {name: total.get(name, 0) + value for name, value in seen.items()}
    say_figures(seeds=10, processes=16, **total)


@pytest.mark.native
@pytest.mark.parametrize("point", POINTS)
def test_death_again_and_again_returns_every_byte(
    make_region: MakeRegion, make_env: MakeEnv, ledger_env: LedgerEnv, say_figures: SayFigures, point: str
) -> None:
    rounds = scaled(20)
    for number in range(rounds):
        die_at(point, make_region(f"region{number}", limit=8 * MIB, share=300), make_env, ledger_env)
    say_figures(deaths=rounds, bytes_lost=0)


@pytest.mark.parametrize(("processes", "rounds"), [(2, 10_000), (8, 2_000)])
def test_races_near_the_limit_have_one_winner(
    make_region: MakeRegion, ledger_env: LedgerEnv, say_figures: SayFigures, processes: int, rounds: int
) -> None:
    region = make_region(limit=1024 * MIB)
    many = scaled(rounds)
    out = run_tool("ledger", "race", str(processes), str(many), str(600 * MIB), env=ledger_env(region), timeout=600)
    assert figures(out) == {"over": 0, "lonely": 0}
    assert region.used() == 0
    say_figures(rounds=many, **figures(out))
