"""Allocation workers as processes of their own, on one queue of random requests; any of them may be killed."""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError, connections

from allocator.models import Node as NodeRow
from allocator.services import fail_over as giving_up
from marketplace.models import EVERYWHERE, TAKES_CAPACITY, Reservation, ReservationState
from marketplace.services import fail_over, queue, reconcile, release, reserve, resize
from plumbing.errors import DomainError
from plumbing.rowsec import system_scope
from tests.marketplace.factories import HOUR, NOON, Buyer, make_order

# One request, written and read in one piece: a worker that dies takes at most its own with it.
REQUEST = struct.Struct("<IQ")
LOCK_TIMEOUT = "55P03"
VERBS = ("reserve", "reserve", "reserve", "resize", "release", "queue", "lose", "come_back", "fail_over", "reconcile")


class Worker:
    """What one process does until the queue is closed."""

    def __init__(self, buyers: Sequence[Buyer], requests: int) -> None:
        self.buyers = buyers
        self.requests = requests

    def serve(self) -> None:
        while raw := os.read(self.requests, REQUEST.size):
            number, seed = REQUEST.unpack(raw)
            dice = random.Random(seed)  # noqa: S311 - a repeatable story
            verb: Callable[..., None] = getattr(self, f"_{dice.choice(VERBS)}")
            try:
                verb(dice, NOON + timedelta(seconds=number))
            except DomainError:  # a refusal is an answer
                continue
            except OperationalError as error:  # so is "too busy": a task that waited too long comes with the next beat
                if getattr(error.__cause__, "sqlstate", "") != LOCK_TIMEOUT:
                    raise

    def _reserve(self, dice: random.Random, now: datetime) -> None:
        buyer = dice.choice(self.buyers)
        starts_at = dice.choice([None, None, now + timedelta(minutes=dice.randrange(1, 60))])
        sizes: dict[str, Any] = {"memory_mib": dice.randrange(200, 5000), "share_permille": dice.randrange(50, 600)}
        order = make_order(
            buyer, starts_at=starts_at, ends_at=dice.choice([None, now + 2 * HOUR]), queue=dice.random() < 0.5, **sizes
        )
        reserve.reserve(order=order, requested_by=buyer.person.user.pk, actor="user:test", now=now, name="")

    def _pick(self, dice: random.Random, *states: str) -> Any:
        rows = list(Reservation.objects.filter(state__in=states).order_by("pk").values_list("pk", flat=True))
        return dice.choice(rows) if rows else None

    def _resize(self, dice: random.Random, now: datetime) -> None:
        found = self._pick(dice, "confirmed", "activating", "active")
        if found is not None:
            resize.resize(
                reach=EVERYWHERE, reservation_id=found, memory_mib=dice.randrange(200, 5000),
                share_permille=dice.randrange(50, 600), actor="user:test", now=now,
            )  # fmt: skip

    def _release(self, dice: random.Random, now: datetime) -> None:
        found = self._pick(dice, *TAKES_CAPACITY, ReservationState.QUEUED)
        if found is not None:
            release.release(reach=EVERYWHERE, reservation_id=found, actor="user:test", now=now)

    def _queue(self, dice: random.Random, now: datetime) -> None:  # noqa: ARG002 - every verb has the same form
        queue.place_queued(now=now)

    def _lose(self, dice: random.Random, now: datetime) -> None:
        node = dice.choice(list(NodeRow.objects.order_by("pk").values_list("pk", flat=True)))
        NodeRow.objects.filter(pk=node).update(is_online=False, authority_until=NOON - HOUR)
        giving_up.give_up(now=now)

    def _come_back(self, dice: random.Random, now: datetime) -> None:  # noqa: ARG002
        for node in NodeRow.objects.filter(is_online=False).values_list("pk", flat=True):  # each by its own heartbeat
            NodeRow.objects.filter(pk=node).update(is_online=True)

    def _fail_over(self, dice: random.Random, now: datetime) -> None:  # noqa: ARG002
        fail_over.fail_over(now=now)

    def _reconcile(self, dice: random.Random, now: datetime) -> None:
        found = self._pick(dice, "moving", "confirmed", "activating", "ending")
        if found is not None:
            reconcile.reconcile_owners(owners=[found], now=now)


class Crew:
    """`size` processes on one queue. The parent keeps no connection to the database meanwhile."""

    def __init__(self, size: int, buyers: Sequence[Buyer]) -> None:
        self.buyers = buyers
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self.kills = 0
        connections.close_all()
        self.pids = {self._hire() for _ in range(size)}

    def _hire(self) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                os.close(self._writing)
                with system_scope():
                    Worker(self.buyers, self._reading).serve()
                os._exit(0)
            except Exception:  # noqa: BLE001 - whoever reads the test's output is to know what it was
                traceback.print_exc(file=sys.__stderr__)  # pytest captures the other
            finally:
                os._exit(1)  # never back into pytest
        return pid

    def ask(self, number: int, seed: int) -> bool:
        """False while the queue is full."""
        try:
            return os.write(self._writing, REQUEST.pack(number, seed)) == REQUEST.size
        except BlockingIOError:
            return False

    def kill_one(self, dice: random.Random) -> None:
        """kill -9, and another one takes the place."""
        pid = dice.choice(sorted(self.pids))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.pids.remove(pid)
        self.pids.add(self._hire())
        self.kills += 1

    def finish(self) -> list[int]:
        """Close the queue and wait: the exit statuses of those who were not killed."""
        os.close(self._writing)
        found = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self.pids]
        os.close(self._reading)
        return found
