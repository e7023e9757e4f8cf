"""The part of the facade that deals with nodes that fall silent and with what they ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.facade.scope import whole_fleet
from allocator.selectors import devices
from allocator.selectors import leases as lease_rows
from allocator.services import fail_over, place_many, standby, watch
from allocator.services._ahead import AHEAD_OF_VERDICT
from allocator.services.watch import Leaving
from vxpu.market import Claim, DeviceView, DeviceWords, Wish


@whole_fleet
def watch_nodes(*, now: datetime) -> int:
    """Nodes that fell silent go offline, and what they ran is given up once their agents have closed the gates.

    Returns how many leases were given up: they are LOST, and their owners should `find_places` and `book_all`.
    """
    given_up = fail_over.watch_nodes(now=now)
    if not given_up:
        place_many.keep_ready(now=now)
    return given_up


@whole_fleet
def list_leaving(*, now: datetime) -> Leaving:
    """Nodes that are about to be given up, and whose leases would be lost with them."""
    return watch.list_leaving(now=now)


@whole_fleet
def look_ahead(
    *, wishes: Mapping[UUID, Wish], tenants: Mapping[UUID, UUID], leaving: Collection[UUID], now: datetime
) -> None:
    """Places for what may soon be lost with the nodes `leaving`: this process keeps them for `give_out`."""
    place_many.look_ahead(wishes=wishes, tenants=tenants, leaving=leaving, now=now)


@whole_fleet
def give_out(*, owners: Iterable[UUID]) -> list[Claim]:
    """What `look_ahead` found for these, who wish what they wished then, where it has not been touched since: each
    once. Claims that fit all together."""
    return AHEAD_OF_VERDICT.give_out(owners)


@whole_fleet
def list_lost(*, since: datetime) -> list[UUID]:
    """Leases that were given up from `since` on, by id."""
    return lease_rows.list_lost(since=since)


@whole_fleet
def find_places(
    *, wishes: Mapping[UUID, Wish], tenants: Mapping[UUID, UUID], now: datetime, beside: Sequence[Claim] = ()
) -> list[Claim]:
    """For what was lost, by owner in order of seniority: claims that fit all together, and `beside` others, on one
    unlocked snapshot.

    Owners for whom there is no room have none.
    """
    return place_many.find_places(wishes=wishes, tenants=tenants, beside=beside, now=now)


@whole_fleet
def book_all(*, claims: Sequence[Claim], now: datetime) -> tuple[dict[UUID, UUID], dict[UUID, str]]:
    """tx. By owner: the ids of leases, and refusals. A refusal loses no other claim. Devices stay locked until the
    commit."""
    return place_many.book_all(claims=claims, now=now, operator_tenant=settings.VXPU_OPERATOR_TENANT)


@whole_fleet
def hand_over_standby(*, used: Collection[UUID], now: datetime) -> None:
    """Nodes that stood by and were filled are for sale from now on; as many lost ones stand by when they come back."""
    standby.hand_over(used=used, now=now)


@whole_fleet
def find_words(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceWords]:
    """Of those that there are, by id."""
    return devices.find_words(device_ids=device_ids)


@whole_fleet
def find_devices(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceView]:
    """Those that there are, by id, without their readings."""
    return devices.find_devices(device_ids=device_ids)
