"""What the agent does for slices of cards beside its cycle: meters them, and publishes gain, overhead and loans.

One thread. Ten times a second it asks the driver, through the door in devices/, what each process had; each half second
it writes into the regions; each 50 ms, and only while somebody waits at a gate, it lends idle time, and has slices take
turns whose memory does not fit on their card together. The cycle reads what it found and never waits for a driver.
Nothing here believes the guest: its counters steer its own gain, and what its processes had of the card beyond what
they debited comes back as the agent's debit.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.card_meter import CardMeter, ProcessSample
from agent.config import CardPolicy
from agent.devices.port import Device
from agent.enforce.port import Enforcer, SliceSpec
from agent.gain import WHOLE_PPM, Debt, GainReading, next_gain_ppm, settle
from agent.gauge import Counters
from agent.lender import LOAN_NS, Demand, idle_permille, lend
from agent.lender import LOOK_NS as LENDER_NS
from agent.meter import SECOND_NS
from agent.overhead import Overhead, next_overhead
from agent.region import Damaged, GateHints, Region
from agent.turns import NO_TURN, Sharer, Turn, must_take_turns, turns
from vxpu.units import MIB, WHOLE_PERMILLE

LOOK_NS = SECOND_NS // 2
SAMPLE_NS = SECOND_NS // 10
# Who waited or was refilled so lately stands at its gate now.
WAITING_NS = 200_000_000
OVER_NS = 10 * SECOND_NS
OVER_PERMILLE = 1200
LONGEST_LAG_NS = SECOND_NS
# Turns go on for so long after they were last needed: memory comes and goes.
TURNS_STAY_NS = 5 * SECOND_NS
MICRO = 1000
MS = 1_000_000


class CardDoor(Protocol):
    """The vendor's door. None: the card does not say, or cannot be reached now."""

    def process_memory(self, device: Device) -> Mapping[int, int | None] | None: ...

    def process_busy(self, device: Device, since_us: int) -> Sequence[ProcessSample] | None: ...


@dataclass(slots=True)
class Watched:
    """One slice of a card, with what is known of its gate and what was published for it."""

    spec: SliceSpec
    device: Device
    gain_ppm: int = WHOLE_PPM
    debt: Debt = field(default_factory=Debt)
    overhead: Overhead = field(default_factory=Overhead)
    reading: GainReading | None = None
    looked_ns: int = 0
    measured_ns: int = 0
    debited_ns: int | None = None
    gate: GateHints | None = None
    gate_ns: int = 0
    used_permille: int = 0
    waited_ns: int = -WAITING_NS
    lent_permille: int = 0
    over_since_ns: int = 0
    judged_ns: int = 0
    over_had_ns: int = 0
    over_allowed_ns: int = 0
    kept_bytes: int = 0
    spill_bytes: int = 0
    turns_until_ns: int = 0
    turn: Turn = NO_TURN

    @property
    def sharer(self) -> Sharer:
        return Sharer(self.spec.share_permille, self.kept_bytes, self.spill_bytes)

    @property
    def is_limited(self) -> bool:
        return self.spec.card is not None and not self.spec.card.inert


class Cards:
    """Every method may be called from any thread; `start` begins the work of its own."""

    def __init__(
        self, door: CardDoor, enforcer: Enforcer, policy: CardPolicy, *, now_ns: Callable[[], int] = time.monotonic_ns,
        wall_us: Callable[[], int] = lambda: time.time_ns() // MICRO,
    ) -> None:  # fmt: skip
        self._door = door
        self._enforcer = enforcer
        self._policy = policy
        self._now_ns = now_ns
        self._wall_us = wall_us
        self._lock = threading.Lock()
        self._slices: dict[str, Watched] = {}
        self._meters: dict[str, CardMeter] = {}
        self._events: deque[tuple[str, str]] = deque(maxlen=256)
        self._foreign_permille: dict[str, int] = {}
        self._unclaimed: dict[str, int] = {}
        self._trouble = ""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- the cycle's side ----

    def watch(self, spec: SliceSpec, device: Device, *, busy_ns: int = 0) -> None:
        """Begin with a slice, or take its new terms. `busy_ns`: what it had of the card by an agent before this one."""
        with self._lock:
            known = self._slices.get(spec.lease_id)
            if known is not None:
                known.spec = spec
                return
            self._slices[spec.lease_id] = _begin(spec, device, self._enforcer.region(spec))
            meter = self._meters.setdefault(device.key, CardMeter(since_us=self._wall_us()))
            meter.begin(spec.lease_id, busy_ns=busy_ns)

    def forget(self, lease_id: str) -> None:
        with self._lock:
            known = self._slices.pop(lease_id, None)
            if known is not None:
                self._meters[known.device.key].forget(lease_id)

    def counters(self, lease_id: str) -> Counters | None:
        read = self.read(lease_id)
        return read[1] if read is not None else None

    def read(self, lease_id: str) -> tuple[int, Counters] | None:
        """(when its card was read last, what the slice took until then); None: not yet."""
        with self._lock:
            known = self._slices.get(lease_id)
            meter = self._meters[known.device.key] if known is not None else None
            found = meter.counters(lease_id) if meter is not None else None
            return (meter.mono_ns, found) if meter is not None and found is not None else None

    def users(self, lease_id: str) -> dict[int, int]:
        """The slice's processes that are on its card now, by pid, with their bytes."""
        with self._lock:
            known = self._slices.get(lease_id)
            found = self._meters[known.device.key].slices.get(lease_id) if known is not None else None
            return dict(found.memory_of) if found is not None else {}

    def busy(self, key: str) -> tuple[int, int] | None:
        """(when the card was read last, device time of all processes); None while no slice of it is watched."""
        with self._lock:
            meter = self._meters.get(key)
            return (meter.mono_ns, meter.busy_ns) if meter is not None and meter.slices else None

    def take_events(self) -> list[tuple[str, str]]:
        found = []
        while self._events:
            found.append(self._events.popleft())
        return found

    # ---- the thread ----

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="cards", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        look_at = sample_at = 0.0
        is_cheap = self._enforcer.own_uid  # without a control group its processes are found by a walk through /proc
        while not self._over.is_set():
            now = time.monotonic()
            try:
                if now >= sample_at:
                    self.sample(is_claiming=is_cheap or now >= look_at)
                    sample_at = now + SAMPLE_NS / SECOND_NS
                if now >= look_at:
                    self.look()
                    look_at = now + LOOK_NS / SECOND_NS
                is_waiting = self.lend() | self.take_turns()
            except Exception as error:  # noqa: BLE001 - the meter of all slices must not end with one bad reading
                self._say_once(f"{error!r}")
                is_waiting = False
            due = min(sample_at, look_at)
            if is_waiting:
                due = min(due, now + LENDER_NS / SECOND_NS)
            self._over.wait(max(0.005, due - time.monotonic()))

    def sample(self, *, is_claiming: bool = True) -> None:
        """See whose the processes are while they live, and what the driver sampled of them."""
        with self._lock:
            watched = [(one.device, one.spec) for one in self._slices.values()]
        members: dict[str, dict[str, list[int]]] = {}
        for device, spec in watched:
            pids = self._enforcer.processes(spec) if is_claiming else []
            members.setdefault(device.key, {})[spec.lease_id] = pids
        for device in {device.key: device for device, _ in watched}.values():
            with self._lock:
                self._meters[device.key].claim(members[device.key], mono_ns=self._now_ns())
                since_us = self._meters[device.key].question(wall_us=self._wall_us())
            samples = self._door.process_busy(device, since_us)  # no lock: a driver may take its time
            with self._lock:
                self._meters[device.key].fold(samples, since_us=since_us)

    def look(self) -> None:
        """Close an interval of every card that has slices, and publish what follows from it for each of them."""
        with self._lock:
            devices = {one.device.key: one.device for one in self._slices.values()}
        for key, device in devices.items():
            memory = self._door.process_memory(device)
            with self._lock:
                self._close(key, memory)

    def _close(self, key: str, memory: Mapping[int, int | None] | None) -> None:
        now_ns, meter = self._now_ns(), self._meters[key]
        length_ns = max(LOOK_NS, now_ns - (meter.mono_ns or now_ns))
        had = meter.look(memory, mono_ns=now_ns)
        self._foreign_permille[key] = (meter.unclaimed_ns - self._unclaimed.get(key, 0)) * WHOLE_PERMILLE // length_ns
        self._unclaimed[key] = meter.unclaimed_ns
        lag_ns = (self._wall_us() - meter.since_us) * MICRO
        at_ns = now_ns - lag_ns if 0 <= lag_ns <= LONGEST_LAG_NS else now_ns
        for lease_id, had_ns in had.items():
            one = self._slices.get(lease_id)
            if one is None or not one.is_limited:
                continue
            try:
                self._publish(one, meter, had_ns, at_ns=at_ns, now_ns=now_ns)
            except OSError as error:  # its region went away under us: the others' did not
                self._say_once(f"{lease_id}: {error}")
            self._judge(one, had_ns, now_ns)
        self._see_crowd(key, now_ns)

    def _publish(self, one: Watched, meter: CardMeter, had_ns: int, *, at_ns: int, now_ns: int) -> None:
        """`at_ns` is when the driver's last sample ended: so far the two meters can be compared."""
        totals = meter.slices[one.spec.lease_id]
        region = self._enforcer.region(one.spec)
        spill_bytes = self._policy.spill_mib * MIB  # bought by each
        try:
            hints = region.read_hints()
            one.spill_bytes = min(hints.spill_bytes, spill_bytes)
            gate, counted = hints.gate, hints.used_bytes + hints.context_bytes + one.spill_bytes
        except Damaged:  # the audit says so; all that the card holds for it is then beyond its count
            gate, counted, one.spill_bytes = None, 0, 0
        one.kept_bytes = max(totals.memory_bytes, min(counted, one.spec.memory_mib * MIB + spill_bytes))
        measured = gate.measured_ns if gate is not None else one.measured_ns
        debited = gate.debited_ns if gate is not None else one.debited_ns
        if one.looked_ns:
            totals.gap_ns += max(0, measured - one.measured_ns - had_ns)
        rise = debited - one.debited_ns if debited is not None and one.debited_ns is not None else 0
        one.debt = settle(one.debt, busy_ns=had_ns, debited_ns=rise)
        then = _between((one.looked_ns, one.measured_ns), (now_ns, measured), at_ns=at_ns)
        reading = GainReading(at_ns, totals.busy_ns, then)
        # Who takes turns is seen over whole cycles: the two meters do not agree about a part of one.
        if one.reading is None or at_ns - one.reading.mono_ns >= one.turn.cycle_ns - LOOK_NS // 2:
            if one.reading is not None:
                one.gain_ppm = next_gain_ppm(one.reading, reading, current_ppm=one.gain_ppm)
            one.reading = reading
        one.looked_ns, one.measured_ns, one.debited_ns = now_ns, measured, debited
        one.overhead = next_overhead(one.overhead, on_card_bytes=totals.memory_bytes, counted_bytes=counted)
        region.publish(
            gain_ppm=one.gain_ppm, overhead_bytes=one.overhead.published_bytes, agent_debit_ns=one.debt.debit_ns
        )
        self._note(one, gate, now_ns)

    def _judge(self, one: Watched, had_ns: int, now_ns: int) -> None:
        """Who has more of the card for ten seconds than its share and its loans is past the limiter, and it is said."""
        if not one.over_since_ns:
            one.over_since_ns = one.judged_ns = now_ns
            return
        allowed = min(WHOLE_PERMILLE, one.spec.share_permille + one.lent_permille)
        one.over_had_ns += had_ns
        one.over_allowed_ns += (now_ns - one.judged_ns) * allowed // WHOLE_PERMILLE  # a look may be late
        one.judged_ns = now_ns
        length_ns = now_ns - one.over_since_ns
        if length_ns < OVER_NS:
            return
        if one.over_had_ns * WHOLE_PERMILLE > one.over_allowed_ns * OVER_PERMILLE + SECOND_NS // 2 * WHOLE_PERMILLE:
            took = one.over_had_ns * WHOLE_PERMILLE // length_ns
            text = f"over_share: {took} permille of the card for {length_ns // SECOND_NS} s; {allowed} were to be had"
            self._events.append((one.spec.lease_id, text))
        one.over_since_ns, one.over_had_ns, one.over_allowed_ns = now_ns, 0, 0

    # ---- turns ----

    def _see_crowd(self, key: str, now_ns: int) -> None:
        sharers = self._sharers(key)
        card_bytes = max((one.spec.card.memory_mib for one in sharers if one.spec.card), default=0) * MIB
        kept = [one.sharer for one in sharers]
        if must_take_turns(kept, other_bytes=self._meters[key].unclaimed_bytes, card_bytes=card_bytes):
            for one in sharers:
                if one.sharer.spills:
                    one.turns_until_ns = now_ns + TURNS_STAY_NS

    def take_turns(self) -> bool:
        """Write the next turns of those who must take some; whether anybody must."""
        now_ns = self._now_ns()
        with self._lock:
            for key in {one.device.key for one in self._slices.values()}:
                sharers = self._sharers(key)
                takers = [one.spec.share_permille * (now_ns < one.turns_until_ns) for one in sharers]
                for one, turn in zip(sharers, turns(takers, now_ns=now_ns), strict=True):
                    if turn != one.turn:
                        self._give_turn(one, turn)
            return any(one.turn != NO_TURN for one in self._slices.values())

    def _give_turn(self, one: Watched, turn: Turn) -> None:
        if one.turn == NO_TURN:
            text = f"taking_turns: its card can't hold what its slices keep; every {turn.cycle_ns // MS} ms"
            self._events.append((one.spec.lease_id, text))
        if turn == NO_TURN:
            self._events.append((one.spec.lease_id, "turns_over"))
        with contextlib.suppress(FileNotFoundError):
            region = self._enforcer.region(one.spec)
            region.hold(from_ns=turn.hold_from_ns, until_ns=turn.hold_until_ns)
            region.lend(turn.lend_permille, until_ns=turn.lend_until_ns)
        one.turn, one.lent_permille = turn, 0

    def _sharers(self, key: str) -> list[Watched]:
        return [one for one in self._slices.values() if one.device.key == key and one.is_limited]

    # ---- idle time ----

    def lend(self) -> bool:
        """Lend what is idle on each card; whether anybody waits. Hard mode: nothing, to nobody."""
        if self._policy.lend == "hard":
            return False
        is_waiting = False
        with self._lock:
            for key in {one.device.key for one in self._slices.values()}:
                is_waiting |= self._lend_on(key, self._sharers(key))
        return is_waiting

    def _lend_on(self, key: str, sharers: list[Watched]) -> bool:
        now_ns = self._now_ns()
        for one in sharers:
            try:
                self._note(one, self._enforcer.region(one.spec).read_gate(), now_ns)
            except Damaged:
                self._note(one, None, now_ns)
        demands = [
            Demand(
                one.spec.share_permille, one.spec.share_permille,
                one.turn != NO_TURN or now_ns - one.waited_ns < WAITING_NS,
                used_permille=one.used_permille, work_conserving=one.turn == NO_TURN,
            )
            for one in sharers
        ]  # fmt: skip
        idle = max(0, idle_permille(demands) - self._foreign_permille.get(key, 0))
        for one, permille in zip(sharers, lend(demands, idle_permille=idle), strict=True):
            if one.turn == NO_TURN and (permille or one.lent_permille):
                with contextlib.suppress(FileNotFoundError):
                    self._enforcer.region(one.spec).lend(permille, until_ns=now_ns + LOAN_NS if permille else 0)
            one.lent_permille = permille
        return any(demand.waits for demand in demands)

    def _note(self, one: Watched, gate: GateHints | None, now_ns: int) -> None:
        """What the gate says of demand. A guest that lies here is lent more or less of what nobody else wants."""
        before, length_ns = one.gate, now_ns - one.gate_ns
        if gate is not None:
            stood = before is not None and (gate.waits != before.waits or gate.waited_ns != before.waited_ns)
            in_debt = gate.budget_ns <= 0 and 0 <= now_ns - gate.refilled_ns < WAITING_NS
            if stood or in_debt:
                one.waited_ns = now_ns
            if before is not None and length_ns > 0:
                used = max(0, gate.debited_ns - before.debited_ns) * WHOLE_PERMILLE // length_ns
                one.used_permille = min(WHOLE_PERMILLE, used)
        one.gate, one.gate_ns = gate, now_ns

    def _say_once(self, trouble: str) -> None:
        if self._trouble != trouble:
            self._trouble = trouble
            sys.stderr.write(f"vxpu-agent: cards: {trouble}\n")


def _begin(spec: SliceSpec, device: Device, region: Region) -> Watched:
    """From what stands in the region: an agent before this one may have published, and guests may run."""
    published = region.read_published()
    made = Watched(
        spec, device, gain_ppm=published.gain_ppm or WHOLE_PPM, debt=Debt(0, published.agent_debit_ns),
        overhead=Overhead(published.overhead_bytes),
    )  # fmt: skip
    with contextlib.suppress(Damaged):
        gate = region.read_gate()
        made.measured_ns, made.debited_ns = gate.measured_ns, gate.debited_ns
    return made


def _between(before: tuple[int, int], after: tuple[int, int], *, at_ns: int) -> int:
    """A counter's value at `at_ns`, on the line between two readings (time, value)."""
    (before_ns, low), (after_ns, high) = before, after
    if before_ns <= 0 or after_ns <= before_ns or not before_ns <= at_ns <= after_ns:
        return high
    return low + (high - low) * (at_ns - before_ns) // (after_ns - before_ns)
