"""What the default policy learns from its own leases."""

from __future__ import annotations

from datetime import timedelta

import pytest

from allocator.models import PoolLessons
from allocator.services import changes, pools
from allocator.services._picture import PICTURE
from allocator.services._policies import lessons_of
from allocator.services.learn import learn
from tests.allocator.factories import NOON, Node, book, make_wish

pytestmark = pytest.mark.usefixtures("system")
LATER = NOON + timedelta(minutes=5)


def test_an_empty_history_teaches_nothing_and_breaks_nothing() -> None:
    Node()
    assert learn(now=NOON) == 0
    assert PoolLessons.objects.count() == 0
    assert book(make_wish(policy="fragmentation"))


def test_each_pool_learns_from_its_own_wishes_and_places_by_that() -> None:
    node, other = Node(devices=8), Node(devices=1)
    pools.make_pool(name="gpu", policy="fragmentation", may_override=False, description="", now=NOON)
    pools.describe_node(node_id=node.id, changes={"pool": "gpu"}, actor="olga", now=NOON)
    for _ in range(6):
        book(make_wish(pool="gpu", share_permille=810, memory_mib=10))
    assert learn(now=LATER) == 6
    row = PoolLessons.objects.get()
    assert (row.pool, row.version, row.asks, row.learned_at) == ("gpu", 1, 6, LATER)
    assert lessons_of(row.lessons).values[1000] == 1000
    learn(now=LATER)
    assert PoolLessons.objects.get().version == 2
    PICTURE.forget()
    with PICTURE.look(now=LATER) as seen:
        assert seen.rules.pools["gpu"].version == 2
    assert book(make_wish(pool="gpu")).node_id != other.id


def test_old_changes_are_forgotten() -> None:
    Node()
    assert changes.forget_old(now=NOON - timedelta(days=1)) == 0
    assert changes.forget_old(now=NOON + timedelta(days=365)) > 0
