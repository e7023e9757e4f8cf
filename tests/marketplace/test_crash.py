"""kill -9 of the process that works, before its commit: nothing sold, nothing charged, nothing forgotten."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connections

from allocator import facade as allocator
from billing import facade as billing
from marketplace.models import Quote, Reservation
from marketplace.services import queue_run, quote, rate, reconcile, reserve
from plumbing import db
from plumbing.rowsec import system_scope
from tests.marketplace.factories import HOUR, MINUTE, NOON, buy, fresh, lease_of, make_buyer, make_order, make_price
from tests.marketplace.node import Node


@contextmanager
def after_the_death_of(work: Callable[[], None]) -> Iterator[None]:
    """`work` ran in a process of its own, inside a door's transaction as behind REST, and died with that open."""
    connections.close_all()  # a connection must not be shared over a fork
    child = os.fork()
    if child == 0:
        try:
            with system_scope(), db.door():
                work()
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)  # never back into pytest
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with system_scope():
        yield


def rate_all() -> None:
    """In the process that dies."""
    assert rate.rate_dirty(now=NOON + HOUR) > 0


def buy_one() -> None:
    """In the process that dies."""
    buy(make_buyer())


def confirm(quote_id: str) -> None:
    """In the process that dies."""
    seen = Quote.objects.get(pk=quote_id)
    made = reserve.buy_quoted(quote_id=seen.pk, requested_by=seen.requested_by, actor="user:test", now=NOON)
    assert made.row.quote_id == seen.pk


@pytest.mark.usefixtures("committed_system")
def test_a_quote_whose_purchase_was_killed_can_still_be_used_once() -> None:
    make_price("3.20")
    Node(now=NOON)
    ada = make_buyer()
    told = quote.quote(order=make_order(ada), requested_by=ada.person.user.pk, actor="user:test", now=NOON).quote
    with after_the_death_of(partial(confirm, str(told.pk))):
        assert (Reservation.objects.count(), Quote.objects.get().used_at) == (0, None)
        confirm(str(told.pk))
        assert (Reservation.objects.count(), Quote.objects.get().used_at) == (1, NOON)


@pytest.mark.usefixtures("committed_system")
def test_a_rater_killed_before_its_commit_loses_no_window() -> None:
    make_price("3.20")
    node = Node(now=NOON)
    row = buy(make_buyer())
    node.beat(now=NOON)
    node.use(lease_of(row), window_start=NOON, used_permille_s=6_000, now=NOON + MINUTE)
    with after_the_death_of(rate_all):
        wanted: dict[str, Any] = {"sources": [lease_of(row)], "starts_at": NOON, "ends_at": NOON + HOUR}
        assert billing.charged_lines(**wanted) == []
        rate.rate_dirty(now=NOON + HOUR)
        assert {line.kind: line.quantity for line in billing.charged_lines(**wanted)} == {
            "used": 6_000, "idle": 250 * 3600 - 6_000,
        }  # fmt: skip


@pytest.mark.usefixtures("committed_system")
def test_a_purchase_killed_before_its_commit_takes_nothing() -> None:
    make_price("3.20")
    Node(now=NOON)
    with after_the_death_of(buy_one):
        assert Reservation.objects.count() == 0
        assert buy(make_buyer(), memory_mib=8192, share_permille=1000).state == "confirmed"


def evict() -> None:
    """In the process that dies."""
    assert queue_run.place_queued(now=NOON + 20 * MINUTE) == 1


@pytest.mark.usefixtures("committed_system")
def test_a_queue_that_is_killed_in_an_eviction_has_told_nobody_and_the_next_one_tells_once() -> None:
    make_price("3.20")
    node = Node(now=NOON)
    whole: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000, "ends_at": NOON + 24 * HOUR}
    victim = buy(make_buyer(), **whole, preemptible=True)
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    wish = buy(make_buyer(), **whole, queue=True, now=NOON + MINUTE, starts_at=None)
    ends = []
    with after_the_death_of(evict):
        assert [fresh(row).state for row in (victim, wish)] == ["active", "queued"]
        ends.append(allocator.get_lease(lease_id=lease_of(victim)).period.ends_at)
        evict()
        assert [fresh(row).state for row in (victim, wish)] == ["preempting", "confirmed"]
        ends.append(allocator.get_lease(lease_id=lease_of(victim)).period.ends_at)
    assert ends == [NOON + 24 * HOUR, NOON + 22 * MINUTE]
