"""By the settings as they come, a device that lost data or fell off its bus takes nothing new; all others do."""

from __future__ import annotations

import pytest
from django.utils import timezone

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.management.simulated.fleet import SimulatedFleet
from allocator.management.simulated.plan import Trait
from allocator.models import Device
from allocator.services._picture import PICTURE
from tests.allocator.factories import NOON, Node, make_wish
from vxpu.states import Quality
from vxpu.wire.node import Reading

pytestmark = pytest.mark.usefixtures("system")
WORKING = {
    "temperature_c": 88, "power_mw": 400_000, "power_limit_mw": 400_000, "throttle_reasons": 0x24,
    "ecc_corrected": 9_000, "ecc_uncorrected": 0, "memory_repairs": 4, "memory_repair_failed": 0, "xid_last": 31,
    "pcie_width": 8, "pcie_width_max": 16, "utilization_permille": 1000,
}  # fmt: skip


def machine(**values: int | None) -> Node:
    """Of one device with these readings."""
    read = {
        name: Reading(value=value, at=NOON, quality=Quality.MEASURED if value is not None else Quality.UNAVAILABLE)
        for name, value in values.items()
    }
    return Node(readings=read)


@pytest.mark.parametrize(
    "values",
    [{"xid_last": 79}, {"xid_last": 48}, {"xid_last": 119}, {"ecc_uncorrected": 1}, {"memory_repair_failed": 1}],
)
def test_a_sick_card_is_not_offered(values: dict[str, int]) -> None:
    machine(**{**WORKING, "memory_repairs": 0, **values})
    with pytest.raises(DoesNotFit) as refused:
        facade.propose(wish=make_wish(), now=NOON)
    assert refused.value.data["constraints"] == {"unhealthy": 1}


@pytest.mark.parametrize("values", [WORKING, {}, dict.fromkeys(WORKING), {"temperature_c": 40, "xid_last": None}])
def test_a_card_that_works_hard_or_tells_nothing_is_offered(values: dict[str, int | None]) -> None:
    node = machine(**values)
    assert [one.device_id for one in facade.propose(wish=make_wish(), now=NOON)] == [node.device_id()]


def test_of_a_simulated_fleet_no_sound_device_is_ill() -> None:
    fleet = SimulatedFleet(devices=100, seed=1, say=lambda _: None)
    fleet.build()
    sound = {
        (machine.node_id, machine.key_of(number))
        for machine in fleet.machines for number, one in enumerate(machine.plan.devices) if one.trait is Trait.SOUND
    }  # fmt: skip
    with PICTURE.look(now=timezone.now()) as seen:
        ill = [card.device_id for cards in seen.draft.layout.cards for card in cards if card.unhealthy]
    assert not sound & set(Device.objects.filter(pk__in=ill).values_list("node_id", "key"))
    assert len(sound) > 80
