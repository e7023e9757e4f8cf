"""A verdict and somebody who is at work on the lease."""

from __future__ import annotations

import pytest
from django.db import transaction

from allocator import facade
from allocator.models import Segment
from allocator.services import watch
from allocator.services.sweep import sweep
from tests.allocator.factories import Node, at, started_lease
from tests.allocator.test_watch import state, watch_until
from tests.racing import OtherConnection
from vxpu.slices import Slice
from vxpu.states import LeaseState


def test_a_resize_that_is_under_way_at_the_verdict_leaves_nothing_behind(committed_system: str) -> None:
    """It holds the lease while the verdict asks for it; the piece that it made is given up as well."""
    node = Node()
    lease = started_lease(node)
    watch_until(30)
    watch.beat(part=watch.DOOR, now=at(32))
    with OtherConnection() as other:
        with transaction.atomic():
            facade.resize(lease_id=lease.id, slice=Slice(memory_mib=64, share_permille=64), now=at(31))
            given_up = other.start(lambda: facade.watch_nodes(now=at(32)))
            with pytest.raises(TimeoutError):
                given_up(0.5)
        assert given_up(30) == 1
    assert state(lease) == LeaseState.LOST
    assert not Segment.objects.filter(lease_id=lease.id, live=True).exists()
    assert sweep() == []
