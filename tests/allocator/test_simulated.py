"""The simulated fleet is like a real one, says that it is none, and goes without a trace of a lease."""

from __future__ import annotations

import random
import time

import pytest

from allocator.management.simulated.fleet import SimulatedFleet
from allocator.management.simulated.plan import make_plan
from allocator.models import Device, Lease
from allocator.models import Node as NodeRow
from allocator.models.lease import LIVE
from allocator.services.sweep import sweep

pytestmark = pytest.mark.usefixtures("system")


def test_the_plan_is_the_same_for_a_seed_and_has_something_of_everything() -> None:
    plan, again = (make_plan(devices=1000, dice=random.Random(1)) for _ in range(2))  # noqa: S311 - a workload
    assert plan == again
    devices = [device for node in plan for device in node.devices]
    assert (len(plan), len(devices), len({node.rack for node in plan})) == (125, 1000, 16)
    assert {device.trait.value for device in devices} == {"sound", "hot", "faulty"}
    assert any(node.falls_silent for node in plan)
    assert {node.rack for node in plan if node.drains} == {"R16"}
    assert len(make_plan(devices=9, dice=random.Random(1))[1].devices) == 1  # noqa: S311 - a workload


def test_it_runs_leases_says_simulated_everywhere_and_goes() -> None:
    fleet = SimulatedFleet(devices=10, seed=1, say=lambda _: None)
    fleet.build()
    assert Device.objects.filter(simulated=True, model__startswith="Simulated").count() == 10
    assert set(NodeRow.objects.values_list("rack", flat=True)) == {"R01"}
    assert Lease.objects.filter(state="ready").count() > 3
    fleet.live(until=time.monotonic())
    fleet.take_down()
    assert not Lease.objects.filter(state__in=LIVE).exists()
    assert not NodeRow.objects.filter(state="active").exists()
    assert sweep() == []


def test_a_second_start_finds_its_machines_again() -> None:
    SimulatedFleet(devices=8, seed=1, say=lambda _: None).build()
    leases = Lease.objects.count()
    SimulatedFleet(devices=8, seed=1, say=lambda _: None).build()
    assert (NodeRow.objects.count(), Lease.objects.filter(state__in=LIVE).count()) == (1, leases)
