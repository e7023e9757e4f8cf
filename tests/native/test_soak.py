"""The accounting for long: random lives near the limit, each crash point over and over, races by the thousand."""

from __future__ import annotations

import pytest

from tests.native.card_guest import OK, play
from tests.native.cards import Cards
from tests.native.conftest import CardRegion, MakeCards, MakeEnv, MakeRegion
from tests.native.guests import figures, run_tool
from tests.native.region import MIB, Region
from tests.native.test_crash import POINTS, LedgerEnv, die_at
from tests.native.test_cuda_crash import MEMORY_POINTS
from tests.native.test_cuda_crash import die_at as die_on_card_at
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


@pytest.mark.parametrize("guaranteed", [64, 40], ids=["device", "spill"])
def test_random_lives_on_a_card_stay_below_the_limit_and_leave_nothing(
    card_region: CardRegion, say_figures: SayFigures, guaranteed: int
) -> None:
    cards, region = card_region(limit=64 * MIB, soft_bytes=guaranteed * MIB, ctx_bytes=MIB // 4)
    env = cards.env(region)
    seen = figures(run_tool("cuda_fuzz", "2", "12", str(scaled(1_000_000)), env=env, timeout=900))
    assert {name: seen[name] for name in ("over", "uneven", "odd", "crashed")} == {
        "over": 0, "uneven": 0, "odd": 0, "crashed": 0,
    }  # fmt: skip
    assert region.usage("peak_bytes") <= guaranteed * MIB
    assert play(env, "context 0", "alloc a 8m", "free a", "release 0") == [OK] * 4
    assert [region.used(field) for field in ("used_bytes", "ctx_bytes", "spill_bytes")] == [0, 0, 0]
    assert cards.used_bytes() == 0
    say_figures(processes=12, **seen)


@pytest.mark.parametrize("processes", [2, 8])
def test_races_on_a_card_have_a_winner(card_region: CardRegion, say_figures: SayFigures, processes: int) -> None:
    cards, region = card_region(limit=1024 * MIB)
    rounds = scaled(10_000)
    out = run_tool(
        "cuda_cycles", "race", str(processes), str(rounds), str(600 * MIB), env=cards.env(region), timeout=600
    )
    assert figures(out) == {"over": 0, "lonely": 0, "bad": 0}
    say_figures(rounds=rounds, **figures(out))


@pytest.mark.parametrize("point", MEMORY_POINTS)
def test_death_on_a_card_again_and_again_returns_every_byte(
    make_region: MakeRegion, make_cards: MakeCards, say_figures: SayFigures, point: str
) -> None:
    rounds = scaled(10)
    for number in range(rounds):

        def stage(*, number: int = number, **limits: int) -> tuple[Cards, Region]:
            there = make_cards(f"cards{number}")
            limits["limit_bytes"] = limits.pop("limit")
            share = limits.pop("share")
            return there, there.grant(make_region(f"region{number}", share=share), 0, **limits)

        die_on_card_at(point, stage, "cuda_cycles", "crash", "2")
    say_figures(deaths=rounds, bytes_lost=0)
