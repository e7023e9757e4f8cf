"""Clients of the allocator that race: at both isolation levels, at random, and on connections that are killed."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from django.db import InterfaceError, OperationalError, connection, connections

from allocator import facade
from allocator.errors import DoesNotFit, HoldLapsed, IllegalPeriod, LeaseLost
from allocator.services.hold import expire_holds
from plumbing import db
from plumbing.rowsec import system_scope
from tests.allocator.factories import MIB, NOON, book, make_wish, release, resize
from tests.servers import Servers
from vxpu.market import LeaseView

Call = Callable[[], Any]
LEVELS = ["read committed", "repeatable read"]
REFUSALS = (DoesNotFit, HoldLapsed, IllegalPeriod, LeaseLost)
TICK = timedelta(seconds=1)
MOST_LEASES = 3


def outcomes(results: list[Any]) -> Counter[str]:
    return Counter(type(result).__name__ for result in results)


def sqlstate(error: BaseException) -> str:
    return str(getattr(error.__cause__, "sqlstate", None) or "")


def at_repeatable_read(call: Call) -> Call:
    """As a client whose transactions keep the snapshot of their first statement."""

    def run() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return call()

    return run


def retrying(call: Call) -> Call:
    """What a client at REPEATABLE READ owes: again after 40001."""

    def run() -> Any:
        while True:
            try:
                return call()
            except OperationalError as error:
                if sqlstate(error) != "40001":
                    raise

    return run


def at_level(isolation: str, call: Call) -> Call:
    return retrying(at_repeatable_read(call)) if isolation == "repeatable read" else call


class Clock:
    """The platform's time: it goes on with each look, for all clients alike."""

    def __init__(self) -> None:
        self._now = NOON
        self._turn = threading.Lock()

    def now(self) -> datetime:
        with self._turn:
            self._now += TICK
            return self._now


@db.transaction
def confirm(lease_id: UUID, *, now: datetime) -> LeaseView:
    return facade.confirm(lease_id=lease_id, now=now)


@db.transaction
def set_end(lease_id: UUID, *, now: datetime, ends_at: datetime | None) -> LeaseView:
    return facade.set_end(lease_id=lease_id, ends_at=ends_at, now=now)


class RandomClient:
    """Books, confirms, resizes, moves ends, releases, lets holds lapse; `seen` counts what came of it."""

    def __init__(self, seed: int, clock: Clock, isolation: str) -> None:
        self.own = random.Random(seed)  # noqa: S311 - a repeatable story
        self.clock = clock
        self.isolation = isolation
        self.leases: list[UUID] = []
        self.seen: Counter[str] = Counter()

    def live(self, steps: int) -> None:
        """So many steps on this thread's connection, which anybody may kill. It keeps a few leases at most."""
        try:
            for _ in range(steps):
                self.seen[self._step()] += 1
        finally:
            connections.close_all()

    def _step(self) -> str:
        verb, call = self._choose()
        try:
            with system_scope():
                result = at_level(self.isolation, call)()
        except REFUSALS as refused:
            return type(refused).__name__
        except (OperationalError, InterfaceError) as error:
            if sqlstate(error) not in {"57P01", ""}:  # ended by an administrator; found closed
                raise
            connection.close()
            return "killed"
        if verb == "book":
            self.leases.append(result.id)
        return verb

    def _choose(self) -> tuple[str, Call]:
        now, dice = self.clock.now(), self.own.random() if len(self.leases) < MOST_LEASES else 1.0
        if dice < 0.4 or not self.leases:
            return "book", partial(book, self._wish(now), hold_until=self._hold(now), now=now)
        if dice < 0.43:
            return "expire", partial(expire_holds, now=now)
        lease = self.own.choice(self.leases)
        if dice < 0.55:
            return "confirm", partial(confirm, lease, now=now)
        if dice < 0.7:
            return "resize", partial(resize, lease, now=now, **self._size())
        if dice < 0.8:
            return "set_end", partial(set_end, lease, now=now, ends_at=self._end(now))
        self.leases.remove(lease)
        return "release", partial(release, lease, now=now)

    def _size(self) -> dict[str, int]:
        part = self.own.choice([1, 4, 16])
        return {
            "memory_mib": self.own.randrange(1, MIB // part), "share_permille": self.own.randrange(1, 1001 // part),
        }  # fmt: skip

    def _end(self, start: datetime) -> datetime | None:
        return self.own.choice([None, start + timedelta(minutes=self.own.randrange(1, 60))])

    def _hold(self, now: datetime) -> datetime | None:
        return self.own.choice([None, now + timedelta(seconds=self.own.randrange(1, 60))])

    def _wish(self, now: datetime) -> Any:
        start = now + timedelta(minutes=self.own.randrange(0, 120))
        policy = self.own.choice(["binpack", "spread"])
        return make_wish(**self._size(), starts_at=start, ends_at=self._end(start), policy=policy)


@contextmanager
def killing_connections(servers: Servers, name: str, *, every_s: float) -> Iterator[Counter[str]]:
    """Ends a random connection to database `name` that is in the middle of a transaction, again and again."""
    victims = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = %s AND xact_start IS NOT NULL AND usename = 'vxpu_app' ORDER BY random() LIMIT 1"""
    over, count = threading.Event(), Counter[str]()

    def run() -> None:
        with psycopg.connect(servers.admin_url, autocommit=True) as link:
            while not over.wait(every_s):
                count["kills"] += len(link.execute(victims, [name]).fetchall())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join(30)
