"""The part of the facade that deals with nodes that fall silent and with what they ran."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.facade.scope import whole_fleet
from allocator.selectors import devices
from allocator.selectors import leases as lease_rows
from allocator.services import fail_over, place_many, standby, watch
from vxpu.market import Claim, DeviceView, LeaseView, Wish


@whole_fleet
def watch_nodes(*, now: datetime) -> int:
    """Nodes that fell silent go offline, and what they ran is given up once their agents have closed the gates.

    Returns how many leases were given up: they are LOST, and their owners should `find_places` and `book_all`.
    """
    watch.mark_unreachable(now=now)
    return fail_over.give_up(now=now)


@whole_fleet
def list_lost(*, since: datetime) -> list[UUID]:
    """Leases that were given up from `since` on, by id."""
    return lease_rows.list_lost(since=since)


@whole_fleet
def find_places(*, wishes: Mapping[UUID, Wish], tenants: Mapping[UUID, UUID], now: datetime) -> list[Claim]:
    """For what was lost, by owner in order of seniority: claims that fit all together on one unlocked snapshot.

    Owners for whom there is no room have none.
    """
    found = place_many.find_places(wishes=wishes, now=now)
    return [
        Claim(
            owner=owner, tenant_id=tenants[owner], wish=wishes[owner], place=place_many.candidate_of(spot),
            standby=spot.standby,
        )
        for owner, spot in found.items()
    ]  # fmt: skip


@whole_fleet
def book_all(*, claims: Sequence[Claim], now: datetime) -> tuple[dict[UUID, LeaseView], dict[UUID, str]]:
    """tx. Leases and refusals by owner; a refusal loses no other claim. Devices stay locked until the commit."""
    booked = place_many.book_all(claims=claims, now=now, operator_tenant=settings.VXPU_OPERATOR_TENANT)
    return {owner: lease_rows.view_of(lease) for owner, lease in booked.leases.items()}, booked.refusals


@whole_fleet
def hand_over_standby(*, used: Collection[UUID], now: datetime) -> None:
    """Nodes that stood by and were filled are for sale from now on; as many lost ones stand by when they come back."""
    standby.hand_over(used=used, now=now)


@whole_fleet
def find_devices(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceView]:
    """Those that there are, by id, without their readings."""
    return devices.find_devices(device_ids=device_ids)
