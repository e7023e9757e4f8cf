"""Where a running lease could go on: another node, the same size, as near to the rest of its gang as agreed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator.engine.fleet import Machine
from allocator.engine.gang import Together
from allocator.errors import DoesNotFit
from allocator.models import Device, Lease, Node, Relocation
from allocator.models.lease import LIVE
from allocator.models.relocation import OPEN
from allocator.services import place
from allocator.services._moving_wish import wish_of
from vxpu.market import Candidate
from vxpu.slices import Slice

# Members that have a device each; those of a gang on one node do not move at all, those of `any` as everybody else.
NEAR = (Together.DEVICES, Together.RACK, Together.SITE)


def find_elsewhere(*, lease: Lease, now: datetime) -> Candidate | None:
    """The best place, or None. The lease's device, node, pool and site are read already."""
    home, near, taken = _spot(lease.node), _together(lease), devices_of_others(lease)

    def passes(machine: Machine) -> bool:
        spot = (machine.site, machine.rack, machine.node_id)
        return machine.node_id != lease.node_id and _is_near(near, home, spot)

    try:
        wish = wish_of(lease, now=now)
        found = place.propose(wish=wish, now=now, only=passes, limit=place.CANDIDATES + len(taken))
    except DoesNotFit:
        return None
    size = Slice(memory_mib=lease.memory_mib, share_permille=lease.share_permille)
    return next((one for one in found if one.device_id not in taken and (lease.whole or one.slice == size)), None)


def breaks_gang(*, lease: Lease, device: Device) -> bool:
    """Whether the lease would leave the others of its gang by going there, or share a device with one of them."""
    near = _together(lease)
    if near == Together.NODE:
        return device.node_id != lease.node_id
    return device.pk in devices_of_others(lease) or not _is_near(near, _spot(lease.node), _spot(device.node))


def devices_of_others(lease: Lease) -> set[UUID]:
    """Where the other members of its gang are, or are about to go; nothing if they may share a device."""
    group = (lease.wanted or {}).get("group")
    if group is None or _together(lease) == Together.ANY:
        return set()
    others = Lease.objects.filter(wanted__group=group, state__in=LIVE).exclude(owner=lease.owner)
    going = Relocation.objects.filter(lease__in=others, state__in=OPEN)
    return {*others.values_list("device_id", flat=True), *going.values_list("to_device_id", flat=True)}


def _together(lease: Lease) -> str:
    return str((lease.wanted or {}).get("together") or Together.ANY)


def _spot(node: Node) -> tuple[str, str, UUID]:
    return "" if node.site is None else node.site.name, node.rack, node.pk


def _is_near(near: str, home: tuple[str, str, UUID], spot: tuple[str, str, UUID]) -> bool:
    """As `engine.gang` has it: a node that does not say where it stands is near to nobody but itself."""
    if near == Together.RACK:
        return (bool(home[1]) and home[:2] == spot[:2]) or home[2] == spot[2]
    if near == Together.SITE:
        return (bool(home[0]) and home[0] == spot[0]) or home[2] == spot[2]
    return True
