"""A simulated fleet: built, kept alive, and taken down."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings
from django.utils import timezone

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.management.simulated.machine import VERSION, Machine
from allocator.management.simulated.plan import DevicePlan, make_plan
from allocator.models import Lease
from allocator.models.lease import LIVE
from allocator.services import drain_node, enrol, partitions
from plumbing import db
from vxpu.ids import new_uuid
from vxpu.market import Candidate, Wish
from vxpu.slices import Period, Slice

TENANTS = [uuid5(NAMESPACE_URL, f"https://vxpu.invalid/simulated-tenant/{number}") for number in range(5)]
LATER = timedelta(hours=6)
BOOKED_AHEAD = 0.2
# So that on a busy machine the beats of those that are up do not keep the others from coming up.
BEATS_A_BUILD = 4


class SimulatedFleet:
    """`say` gets lines of progress."""

    def __init__(self, *, devices: int, seed: int, say: Callable[[str], None], idle: bool = False) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - a workload
        plans = make_plan(devices=devices, dice=self._dice, idle=idle)
        self.machines = [Machine(plan, dice=self._dice) for plan in plans]
        self._say = say
        self._round_s = settings.VXPU_FAILURE_TIMEOUT_S / 3
        self._awake: deque[tuple[float, Machine]] = deque()

    def build(self) -> None:
        """Enrol every machine and let it run its slices; those that are up already go on beating meanwhile."""
        partitions.ensure_ahead(now=timezone.now())
        for number, machine in enumerate(self.machines, start=1):
            self._build_one(machine, now=timezone.now())
            self._beat_due(most=BEATS_A_BUILD)
            if number % 25 == 0 or number == len(self.machines):
                self._say(f"{number} of {len(self.machines)} nodes are up")

    def _build_one(self, machine: Machine, *, now: datetime) -> None:
        with db.door():
            machine.enrol(now=now)
            machine.beat(now=now)
            self._book(machine, now=now)
            machine.beat(now=now)  # hears of its leases
            machine.beat(now=now)  # and has them ready
        if machine.plan.drains:
            reason = "Simulated: new fans for the rack"
            drain_node.drain(node_id=machine.node_id, reason=reason, at=None, actor=VERSION, now=now)
        if not machine.plan.falls_silent:
            self._awake.append((time.monotonic(), machine))

    def _beat_due(self, *, most: int | None = None) -> None:
        """Every machine beats once a round and sends its windows. The queue is in order of the last beat."""
        for _ in range(len(self._awake) if most is None else most):
            if not self._awake or time.monotonic() < self._awake[0][0] + self._round_s:
                return
            _, machine = self._awake.popleft()
            machine.beat(now=timezone.now())
            machine.meter(now=timezone.now())
            self._awake.append((time.monotonic(), machine))

    def _book(self, machine: Machine, *, now: datetime) -> None:
        device_ids = machine.device_ids()
        busy = set(Lease.objects.filter(device__in=device_ids, state__in=LIVE).values_list("device_id", flat=True))
        for device_id, plan in zip(device_ids, machine.plan.devices, strict=True):
            if device_id not in busy:
                self._book_device(machine.node_id, device_id, plan, now=now)

    def _book_device(self, node_id: UUID, device_id: UUID, plan: DevicePlan, *, now: datetime) -> None:
        for piece in plan.slices:
            ends_at = self._dice.choice((None, None, now + timedelta(hours=self._dice.randint(1, 30))))
            self._take(node_id, device_id, piece, Period(starts_at=now, ends_at=ends_at), now=now)
        if plan.slices and self._dice.random() < BOOKED_AHEAD:
            start = now + LATER * self._dice.randint(1, 8)
            self._take(node_id, device_id, plan.slices[0], Period(starts_at=start, ends_at=start + LATER), now=now)

    def _take(self, node_id: UUID, device_id: UUID, piece: Slice, period: Period, *, now: datetime) -> None:
        @db.transaction
        def book() -> None:
            facade.book(
                tenant_id=self._dice.choice(TENANTS),
                owner=new_uuid(),
                wish=Wish(slice=piece, period=period, device_id=device_id),
                candidates=[Candidate(device_id=device_id, node_id=node_id, score=0)],
                hold_until=None,
                now=now,
            )

        try:
            book()
        except DoesNotFit:  # a booking for later meets one that stays: then it is not made
            return

    def live(self, *, until: float) -> None:
        """Go on until `until` (monotonic)."""
        while time.monotonic() < until:
            self._beat_due()
            time.sleep(0.05)

    def take_down(self) -> None:
        """Revoke the nodes: their leases end, their devices are no part of the fleet any more."""
        for machine in self.machines:
            if machine.node_id.int:
                enrol.revoke(node_id=machine.node_id, reason="the simulation ended", now=timezone.now(), actor=VERSION)
