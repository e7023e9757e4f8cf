"""The fleet in memory against the rows it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from pytest_django import Settings

from allocator import facade
from allocator.engine.draft import Draft
from allocator.engine.fleet import Fleet
from allocator.errors import DoesNotFit
from allocator.models import Device, Segment
from allocator.services import cordon
from allocator.services._picture import PICTURE, Picture
from allocator.services._snapshot import read_fleet
from plumbing import db
from plumbing.rowsec import system_scope
from tests.allocator.factories import HOUR, MIB, NOON, Node, at, book, make_wish, release, resize
from vxpu.ids import new_uuid

WHOLE: dict[str, Any] = {"memory_mib": MIB, "share_permille": 1000}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    PICTURE.forget()
    yield
    PICTURE.forget()


def pictured(picture: Picture = PICTURE) -> Fleet:
    with picture.look(now=NOON) as seen:
        return seen.draft.fleet()


def read() -> Fleet:
    """From the rows, with what the picture knows of machines and health beside."""
    return read_fleet(from_at=NOON - HOUR, now=NOON)


def taken(fleet: Fleet) -> dict[Any, Any]:
    cards = {card.device_id: (card.taken, card.online, card.cordoned, card.closed) for card in fleet.cards}
    return {**cards, **{machine.node_id: machine.taken for machine in fleet.machines}}


@pytest.mark.usefixtures("system")
def test_it_follows_every_change_as_the_rows_do() -> None:
    first, other = Node(devices=2), Node(devices=1)
    pictured()
    lease = book(make_wish(cores_milli=500))
    assert taken(pictured()) == taken(read())
    resize(lease.id, now=NOON, memory_mib=10, share_permille=100)
    held = book(make_wish(), hold_until=NOON + timedelta(seconds=60))
    assert taken(pictured()) == taken(read())
    cordon.cordon(node_id=first.id, reason="", actor="olga", now=NOON)
    other.devices[0] = other.devices[0].model_copy(update={"capacity_mib": 100})
    other.sync(now=at(1))
    assert taken(pictured()) == taken(read())
    release(lease.id, now=NOON)
    release(held.id, now=NOON)
    assert taken(pictured()) == taken(read())


@pytest.mark.usefixtures("system")
def test_what_a_node_serves_is_changed_in_place() -> None:
    node, _ = Node(devices=2), Node()
    with PICTURE.look(now=NOON) as seen:
        before = seen.draft
    for serving in (1, 3):
        if serving == 1:
            cordon.cordon(node_id=node.id, reason="", actor="olga", now=NOON)
        else:
            cordon.uncordon(node_id=node.id, actor="olga", now=NOON)
        with PICTURE.look(now=NOON) as seen:
            assert seen.draft is before
            anew = Draft.of(seen.draft.fleet()).layout
            for name in ("serves", "cordoned", "online", "health"):
                assert (getattr(seen.draft.layout, name) == getattr(anew, name)).all(), name
            assert seen.draft.layout.serves.sum() == serving
        assert taken(pictured()) == taken(read())


def book_within(wish: Any) -> None:
    """In the caller's transaction."""
    places = facade.propose(wish=wish, now=NOON)
    facade.book(tenant_id=new_uuid(), owner=new_uuid(), wish=wish, candidates=places, hold_until=None, now=NOON)


def test_what_was_rolled_back_was_never_there(committed_system: str) -> None:
    Node()
    before = taken(pictured())
    with transaction.atomic():
        book_within(make_wish(**WHOLE))
        assert taken(pictured()) != before
        transaction.set_rollback(True)
    assert taken(pictured()) == before
    book(make_wish(**WHOLE))


@pytest.mark.usefixtures("system")
def test_a_hold_that_has_lapsed_takes_nothing_and_one_that_was_confirmed_does() -> None:
    Node()
    wish = make_wish(**WHOLE)
    lease = book(wish, hold_until=NOON + timedelta(seconds=60))
    assert facade.propose(wish=wish, now=NOON + timedelta(seconds=60))
    with transaction.atomic():
        db.transaction_required(facade.confirm)(lease_id=lease.id, now=NOON)
    with pytest.raises(DoesNotFit):
        facade.propose(wish=wish, now=NOON + timedelta(seconds=60))


def elsewhere(call: Any) -> Any:
    """On a connection of its own."""

    def run() -> Any:
        try:
            with system_scope():
                return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def test_a_commit_that_comes_late_is_not_missed(committed_system: str) -> None:
    """It began before others that were seen, and committed after them."""
    node = Node(devices=2)
    early, late = Picture(), make_wish(device_id=node.device_id(0), **WHOLE)
    pictured(early)

    def seen_meanwhile() -> dict[Any, Any]:
        book(make_wish(device_id=node.device_id(1)))
        return taken(pictured(early))

    with transaction.atomic():
        book_within(late)
        meanwhile = elsewhere(seen_meanwhile)
        assert meanwhile[node.device_id(0)][0] == ()
    assert taken(pictured(early)) == taken(read())


def test_a_replica_that_slept_proposes_nothing_from_its_old_picture(committed_system: str, settings: Settings) -> None:
    """Case 1: B's picture is from before A's placements; it is read anew before B's first word."""
    Node()
    old = Picture()
    pictured(old)
    with connection.cursor() as cursor:  # as if its list of changes had been lost on top of that
        book(make_wish(**WHOLE))
        cursor.execute("DELETE FROM allocator_change")
    settings.VXPU_PICTURE_PAUSE_S = 0
    assert taken(pictured(old)) == taken(read())
    assert Segment.objects.filter(live=True).count() == 1
    assert Device.objects.count() == 1
