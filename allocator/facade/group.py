"""Gangs, and what a wish may name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.engine.policies import POLICIES
from allocator.facade.scope import whole_fleet
from allocator.selectors import devices, pools
from allocator.selectors import leases as lease_rows
from allocator.services import gang as gangs
from vxpu.market import Candidate, Choices, DeviceView, KeptRoom, LeaseView, Wish


@whole_fleet
def list_choices() -> Choices:
    """What a wish may name."""
    return pools.list_choices()


@whole_fleet
def propose_gang(
    *,
    wish: Wish,
    count: int,
    together: str,
    now: datetime,
    kept: Sequence[KeptRoom] = (),
    beside: Collection[UUID] = (),
) -> list[Candidate]:
    """A place for each of `count` equal members, ``node``, ``rack``, ``site``, ``devices`` or ``any`` together and with
    those that are on the devices `beside`, by ascending device id; rooms that are `kept` for others are left alone.
    Raises DoesNotFit."""
    return gangs.propose_gang(wish=wish, count=count, together=together, now=now, kept=kept, beside=beside)


@whole_fleet
def book_gang(
    *,
    tenant_id: UUID,
    owners: Sequence[UUID],
    wish: Wish,
    together: str,
    candidates: Sequence[Candidate],
    now: datetime,
) -> list[LeaseView]:
    """tx. One lease for each owner, each on its candidate, or none at all. Raises DoesNotFit."""
    leases = gangs.book_gang(
        tenant_id=tenant_id, owners=owners, wish=wish, together=together, candidates=candidates, now=now,
        operator_tenant=settings.VXPU_OPERATOR_TENANT,
    )  # fmt: skip
    return [lease_rows.view_of(lease) for lease in leases]


@whole_fleet
def get_devices(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceView]:
    """By id; raises NotFound if one of them is not there."""
    return devices.get_devices(device_ids=device_ids)


def policy_names() -> tuple[str, ...]:
    """Of every placement policy, in order."""
    return tuple(sorted(POLICIES))
