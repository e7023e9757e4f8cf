"""Replicas with an old picture, phantom holdings, bulk requests: whoever decides, the database has the last word."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connections

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.models import Segment
from allocator.services.sweep import sweep
from billing import facade as billing
from marketplace.models import EVERYWHERE
from marketplace.services import rate, reconcile, release
from plumbing import db
from plumbing.errors import DomainError
from plumbing.rowsec import system_scope
from tests.allocator.factories import MIB, TENANT, book, make_wish
from tests.allocator.factories import NOON as FLEET_NOON
from tests.allocator.factories import Node as PlainNode
from tests.concurrency.clients import outcomes
from tests.marketplace.factories import HOUR, MINUTE, NOON, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from tests.racing import race
from vxpu.ids import new_uuid
from vxpu.market import Candidate, LeaseView, Wish

WHOLE = {"memory_mib": 8192, "share_permille": 1000}
HALF = {"memory_mib": MIB // 2, "share_permille": 500}
GRANTED, REFUSED = 0, 7


def look() -> None:
    """This process has a picture of the fleet from now on, full as it may be."""
    with suppress(DoesNotFit):
        facade.propose(wish=make_wish(starts_at=NOON, memory_mib=1, share_permille=1), now=NOON)


@db.transaction
def book_on(wish: Wish, places: Sequence[Candidate]) -> LeaseView:
    """Without a look: the database alone decides."""
    return facade.book(
        tenant_id=TENANT, owner=new_uuid(), wish=wish, candidates=places, hold_until=None, now=FLEET_NOON
    )


@contextmanager
def replica(work: Callable[[], object]) -> Iterator[Callable[[], int]]:
    """Another process with this one's picture in memory; it works when it is let go, and tells how that went."""
    connections.close_all()
    waiting, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.read(waiting, 1)
            with system_scope():
                work()
            os._exit(GRANTED)
        except DomainError:
            os._exit(REFUSED)
        finally:
            os._exit(1)

    def let_go() -> int:
        os.write(go, b"!")
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    with system_scope():
        yield let_go


@pytest.mark.usefixtures("committed_system")
def test_a_replica_with_an_old_picture_refuses_what_was_sold_meanwhile() -> None:
    make_price("3.20")
    Node(now=NOON)
    ada, bo = make_buyer(), make_buyer()
    look()
    with replica(partial(buy, bo, **WHOLE)) as second:  # type: ignore[arg-type]
        buy(ada, **WHOLE)  # type: ignore[arg-type]
        assert second() == REFUSED
        assert sweep() == []


@pytest.mark.usefixtures("committed_system")
def test_candidates_of_an_old_picture_are_refused_by_the_database() -> None:
    node = PlainNode()
    wish = make_wish(memory_mib=MIB, share_permille=1000)
    old = facade.propose(wish=wish, now=FLEET_NOON)
    assert [place.device_id for place in old] == [node.device_id()]
    won = race(*[partial(book_on, wish, old)] * 3)
    assert outcomes(won) == {"LeaseView": 1, "DoesNotFit": 2}
    assert outcomes(race(*[partial(book_on, wish, old)] * 3)) == {"DoesNotFit": 3}
    assert sweep() == []


@pytest.mark.usefixtures("committed_system")
def test_who_is_deleted_and_recreated_on_a_full_node_gets_no_more_than_there_is() -> None:
    make_price("3.20")
    Node(now=NOON, devices=[make_device(), make_device()])
    ada, bo = make_buyer(), make_buyer()
    rows = [buy(ada, **WHOLE) for _ in range(2)]  # type: ignore[arg-type]
    look()
    for row in rows:
        for _ in range(2):
            release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON)
    results = race(*[partial(buy, who, **WHOLE) for who in (ada, bo, ada, bo)])  # type: ignore[arg-type]
    assert outcomes(results) == {"Reservation": 2, "DoesNotFit": 2}
    assert sweep() == []


@pytest.mark.usefixtures("committed_system")
def test_what_is_deleted_while_its_agent_restarts_is_free_and_costs_nothing_more(settings: Any) -> None:
    settings.VXPU_AUTHORITY_S, settings.VXPU_FAILURE_TIMEOUT_S = 86_400, 86_405  # it beats, though not in this story
    make_price("3.20")
    node = Node(now=NOON)
    row = buy(make_buyer())
    node.beat(now=NOON)
    deleted_at = NOON + 10 * MINUTE
    node.use_steadily(lease_of(row), since=NOON, until=deleted_at, permille=200)
    for _ in range(2):
        release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=deleted_at)
    node.running.clear()  # it restarts with its host: nothing of the slice is left, and nothing is said of it
    back_at = deleted_at + timedelta(seconds=3 * settings.VXPU_HEARTBEAT_S)
    node.beat(now=back_at)
    for _ in range(2):
        reconcile.reconcile(now=back_at)
        rate.rate_dirty(now=NOON + 2 * HOUR)
    assert fresh(row).state == "completed"
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert {line.kind: line.quantity for line in lines if line.kind != "reserved"} == {
        "used": 200 * 600, "idle": 50 * 600,
    }  # fmt: skip
    assert buy(make_buyer(), starts_at=back_at, ends_at=NOON + 2 * HOUR, now=back_at, **WHOLE).lease_id is not None


@pytest.mark.usefixtures("committed_system")
@pytest.mark.parametrize("at_once", [False, True])
def test_sixteen_halves_are_two_on_each_of_eight_devices_in_any_order(at_once: bool) -> None:
    node = PlainNode(devices=8)
    wishes = [make_wish(**HALF, policy=policy) for policy in ["binpack", "spread"] * 8]
    random.Random(3).shuffle(wishes)  # noqa: S311 - a repeatable story
    calls = [partial(book, wish) for wish in wishes]
    results = race(*calls, timeout_s=60) if at_once else [call() for call in calls]
    assert outcomes(results) == {"LeaseView": 16}
    assert [Segment.objects.filter(device_id=node.device_id(n)).count() for n in range(8)] == [2] * 8
    with pytest.raises(DoesNotFit):
        book(make_wish(**HALF))
    assert sweep() == []
