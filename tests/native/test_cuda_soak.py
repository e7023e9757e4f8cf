"""The share of a card for long: the scenarios for minutes, and a slice whose share and programs change all the time."""

from __future__ import annotations

import random

import pytest

from tests.native.cuda_stage import SECOND_NS, Stage, Tenant, end
from tests.native.test_cuda_share import MS, SCENARIOS, MakeStage, make_stage
from tests.soak import SayFigures, scaled

__all__ = ["make_stage"]
pytestmark = [pytest.mark.soak, pytest.mark.native, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_share_holds_for_minutes(make_stage: MakeStage, say_figures: SayFigures, name: str) -> None:
    stage = make_stage()
    tenants = [stage.steady(share, **options) for share, options in SCENARIOS[name]]
    stage.watch(scaled(120), warm=8)
    got = [stage.got(tenant) for tenant in tenants]
    say_figures(**{f"got_{tenant.asked}_{place}": round(10 * got[place]) for place, tenant in enumerate(tenants)})
    assert got == pytest.approx([tenant.asked / 10 for tenant in tenants], abs=1)


def disturb(stage: Stage, tenant: Tenant, chance: random.Random) -> None:
    """One thing that an agent or a tenant may do at any time."""
    what = chance.randrange(4)
    if what == 0:
        tenant.region.set(share_permille=chance.choice((0, 1, 50, 900)))
    elif what == 1:
        tenant.region.set(pause=chance.randrange(2))
    elif what == 2:
        stage.start(tenant, "steady", ns=chance.choice((20_000, MS, 50 * MS)), ms=1_000_000, sync=chance.randrange(2))
    elif tenant.guests:
        end(tenant.guests.pop(chance.randrange(len(tenant.guests))))
    stage.sleep(chance.randrange(1, 300) * MS)


def test_no_change_leaves_a_slice_stuck_or_free(make_stage: MakeStage, say_figures: SayFigures) -> None:
    chance = random.Random(7)  # noqa: S311 - a repeatable walk, no secret
    rounds = scaled(20)
    for number in range(rounds):
        stage = make_stage(name=f"stage{number}")
        tenant = stage.slice(300)
        for _ in range(30):
            disturb(stage, tenant, chance)
        tenant.region.set(share_permille=300, pause=0)
        stage.start(tenant, "steady", ns=MS, ms=1_000_000)
        while tenant.region.usage("budget_ns") < -SECOND_NS // 2:  # what was owed before is paid
            stage.sleep(SECOND_NS)
        stage.watch(10, warm=2)
        assert stage.got(tenant) == pytest.approx(30, abs=2)
        stage.close()
    say_figures(rounds=rounds, changes=30 * rounds)
