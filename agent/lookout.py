"""Samples for whoever looks (vxpu/wire/node.py: `Watch`, `Samples`): only while they do, and never in the way.

Reading and sending are beside the cycle and the heartbeats: a thread reads, and a frame that the connection cannot
take at once is dropped.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

from agent.clock import ServerClock
from agent.devices.port import Device
from agent.gauge import Counters
from agent.host import HostTime, host_time
from agent.keeper import Keeper
from agent.region import Damaged
from agent.samples import LONGEST_NS, SECOND_NS, SliceCounters, device_sample, host_permille, lease_sample, moment
from agent.state import SliceRecord
from vxpu.states import DeviceKind, LeaseState
from vxpu.wire.node import EVERY_LEASE, DeviceSample, LeaseSample, Samples, Watch

LONGEST_S = 60
SHORTEST_MS = 250
SAMPLED = {LeaseState.READY, LeaseState.SUSPENDED, LeaseState.DRAINING}
Send = Callable[[Samples], None]


class Lookout:
    """`watch` for each order; `leave` when the server's connection ended. All belong to the event loop."""

    def __init__(self, keeper: Keeper, clock: ServerClock) -> None:
        self._keeper = keeper
        self._clock = clock
        self._until_ns: dict[str, int] = {}
        self._every_s = SHORTEST_MS / 1000
        self._before: dict[str, SliceCounters] = {}
        self._last: dict[str, LeaseSample] = {}
        self._cards: dict[str, tuple[int, int, int | None]] = {}
        self._host: HostTime | None = None
        self._task: asyncio.Task[None] | None = None

    def watch(self, order: Watch, send: Send) -> None:
        """Until then, but for a minute at most: a server that renews is a server that is there."""
        mono_ns = time.monotonic_ns()
        left_ns = int(order.until.timestamp() * SECOND_NS) - self._clock.now_ns(mono_ns)
        until_ns = mono_ns + min(left_ns, LONGEST_S * SECOND_NS)
        self._until_ns |= dict.fromkeys(order.lease_ids, until_ns)
        self._every_s = max(SHORTEST_MS, order.interval_ms) / 1000
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look(send))

    def leave(self) -> None:
        self._until_ns.clear()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self, send: Send) -> None:
        self._before, self._last, self._cards, self._host = {}, {}, {}, None
        next_s = time.monotonic()
        while self._wanted():
            records = [one for one in self._keeper.state.slices.values() if one.state in SAMPLED]
            send(await asyncio.to_thread(self._read, records, self._wanted()))
            next_s = max(next_s + self._every_s, time.monotonic() + SHORTEST_MS / 1000)
            await asyncio.sleep(next_s - time.monotonic())

    def _wanted(self) -> set[str]:
        mono_ns = time.monotonic_ns()
        self._until_ns = {name: until for name, until in self._until_ns.items() if until > mono_ns}
        return set(self._until_ns)

    def _read(self, records: list[SliceRecord], wanted: set[str]) -> Samples:
        """In a thread. A slice that goes away meanwhile is left out."""
        is_all = EVERY_LEASE in wanted
        found: dict[SliceRecord, LeaseSample] = {}
        for record in records:
            if is_all or record.lease_id in wanted:
                try:
                    found[record] = self._sample(record)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    sys.stderr.write(f"sample of {record.lease_id}: {error}\n")
        devices = self._devices(found) if is_all else []
        return Samples(leases=list(found.values())[:256], devices=devices)

    def _sample(self, record: SliceRecord) -> LeaseSample:
        """Raises FileNotFoundError when there is nothing to read."""
        after = self._counters(record)
        before = self._before.get(record.lease_id)
        if before is not None and before.mono_ns == after.mono_ns and record.lease_id in self._last:
            return self._last[record.lease_id]  # a card is read in its own time: nothing is newer than that
        self._before[record.lease_id] = after
        sample = lease_sample(record, before, after, at=moment(self._clock.now_ns(after.mono_ns)))
        self._last[record.lease_id] = sample
        return sample

    def _counters(self, record: SliceRecord) -> SliceCounters:
        enforcer, spec = self._keeper.enforcer, record.spec
        try:
            waited_ns: int | None = enforcer.region(spec).read_gate().waited_ns
        except Damaged:  # the audit says so
            waited_ns = None
        holder = record.holder.pid if record.holder is not None else 0
        pids = [pid for pid in enforcer.processes(spec) if pid != holder]
        if record.card is not None:
            read = self._keeper.cards.cards.read(record.lease_id)
            if read is None:
                raise FileNotFoundError(record.lease_id)
            return SliceCounters(*read, waited_ns, len(pids))
        group = enforcer.sample(spec)
        taken = Counters(group.cpu_ns, throttled_ns=group.throttled_ns, memory_bytes=group.memory_bytes)
        return SliceCounters(time.monotonic_ns(), taken, waited_ns, len(pids))

    def _devices(self, found: dict[SliceRecord, LeaseSample]) -> list[DeviceSample]:
        """The processors of this machine, and its cards."""
        after = host_time()
        busy, self._host = host_permille(self._host, after), after
        at = moment(self._clock.now_ns(time.monotonic_ns()))
        return [
            device_sample(
                device.key,
                busy if device.kind == DeviceKind.CPU else self._card_permille(device),
                [sample.compute_permille for record, sample in found.items() if record.device_key == device.key],
                at=at,
            )
            for device in list(self._keeper.devices.values())
            if device.kind in {DeviceKind.CPU, DeviceKind.NVIDIA}
        ]

    def _card_permille(self, device: Device) -> int | None:
        """Of all processes by the meter; of a card that is not metered now, what its driver says of the whole."""
        cards = self._keeper.cards
        after = cards.cards.busy(device.key)
        if after is None:
            at = moment(self._clock.now_ns(time.monotonic_ns()))
            return cards.door.read(device, at=at)["utilization_permille"].value
        before = self._cards.get(device.key)
        if before is not None and before[0] == after[0]:
            return before[2]
        length_ns = after[0] - before[0] if before is not None else 0
        permille = (
            min(1000, (after[1] - before[1]) * 1000 // length_ns)
            if before is not None and 0 < length_ns <= LONGEST_NS
            else None
        )
        self._cards[device.key] = (*after, permille)
        return permille
