"""Slices that together keep more than their card holds: what turns save, and who gets how much of the card."""

from __future__ import annotations

import pytest

from tests.native.cuda_stage import Stage, Tenant
from tests.native.region import MIB
from tests.native.test_cuda_share import MS, MakeStage, make_stage

__all__ = ["make_stage"]
CARD_MIB = 4096
POINTS = 2.0


def crowd(stage: Stage, *shares: int) -> list[Tenant]:
    """Slices that keep 1,112 MiB more than the card has; what they spill is 1,536 MiB, 81 ms of paging for all."""
    keep, spill = 3072 * MIB // len(shares), 1536 * MIB // len(shares)
    stage.cards.set(context_mib=600 // len(shares))
    tenants = [stage.slice(share, limit_bytes=keep + spill, soft_bytes=keep) for share in shares]
    for tenant in tenants:
        tenant.spills = True
        stage.run(tenant, ns=MS, keep=keep, spill=spill)
        while tenant.region.used() < keep:  # what is guaranteed comes first: the programs wait a second with the rest
            stage.sleep(MS // 100)
    return tenants


@pytest.mark.parametrize(("shares", "times"), [((500, 500), 10), ((300, 700), 2), ((250,) * 4, 5)])
def test_turns_keep_a_full_card_from_paging_all_the_time(
    make_stage: MakeStage, shares: tuple[int, ...], times: int
) -> None:
    done = {}
    for turns in (False, True):
        stage = make_stage(f"turns{turns}", turns=turns, memory_mib=CARD_MIB)
        tenants = crowd(stage, *shares)
        stage.watch(10)
        done[turns] = sum(stage.finished(tenant) for tenant in tenants)
    assert done[True] >= times * done[False]
    assert [stage.got(tenant) for tenant in tenants] == pytest.approx([share / 10 for share in shares], abs=POINTS)


def test_who_does_not_spill_goes_on_through_the_others_turns(make_stage: MakeStage) -> None:
    stage = make_stage(turns=True, memory_mib=CARD_MIB + 300)
    other = stage.steady(200, ns=MS)
    tenants = crowd(stage, 100, 300)
    stage.watch(10)
    assert [stage.got(tenant) for tenant in (other, *tenants)] == pytest.approx([20, 10, 30], abs=POINTS)
    assert other.region.usage("longest_wait_ns") <= 100 * MS


def test_nobody_pays_for_paging_while_everything_fits(make_stage: MakeStage) -> None:
    stage = make_stage(memory_mib=2 * CARD_MIB)
    tenants = crowd(stage, 300, 700)
    stage.watch(5)
    assert sum(stage.finished(tenant) for tenant in tenants) >= 4900
