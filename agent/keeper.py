"""The slices of this node: carries out what reconcile decides, and tells the server what is.

Order in every change: remember the intention, change the world, remember that it is done. The crash points between
(`self.at`) are named in docs/agent.md; each is hit by a test.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from agent import reconcile
from agent.audit import Audit
from agent.books import Books
from agent.card_leases import CardLeases
from agent.config import UID_FIRST, UID_LAST, Config
from agent.devices.port import Device
from agent.enforce.launcher import LaunchFailed
from agent.enforce.modes.port import CannotShare
from agent.enforce.port import Enforcer
from agent.gauge import Counters, Gauge
from agent.host import uids_in_use
from agent.meter import Terms
from agent.state import SliceRecord, State
from vxpu.states import DeviceKind, LeaseState
from vxpu.wire.node import DesiredLease, LeaseReport

EVENTS_A_SYNC = 32
EVENTS_KEPT = 256
REPEAT_S = 60.0
RETRY_NS = 1_000_000_000


class NoRoom(RuntimeError):
    """A lease that this node cannot make; the text goes into its report."""


class Keeper:
    """One owner of state, enforcer and books. Not thread-safe."""

    def __init__(
        self, config: Config, *, state: State, enforcer: Enforcer, books: Books, cards: CardLeases,
        devices: dict[str, Device], at: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.config = config
        self.state = state
        self.enforcer = enforcer
        self.books = books
        self.cards = cards
        self.gauge = Gauge(enforcer, cards.cards)
        self.devices = devices
        self.at = at
        self.events: dict[str, deque[str]] = {}
        self.failures: dict[str, tuple[DesiredLease, str]] = {}
        self.audits: dict[str, Audit] = {}
        self.window_s = 60
        self._retry_ns: dict[str, int] = {}
        self._said: dict[tuple[str, str], float] = {}

    def adopt(self) -> None:
        """After a start: take over the slices that run, end those that nobody remembers."""
        for name in self.enforcer.strangers(set(self.state.slices)):
            self.enforcer.discard(name)
        for record in list(self.state.slices.values()):
            if record.state in {LeaseState.READY, LeaseState.SUSPENDED}:
                try:
                    self.cards.adopt(record)
                    self._repair(record.lease_id)
                    self.enforcer.close_gate(self.state.slices[record.lease_id].spec, closed=record.gate_closed)
                    if record.state == LeaseState.SUSPENDED and record.card is not None:
                        self.cards.suspender.adopt(record.spec)
                except (OSError, LaunchFailed, CannotShare) as error:  # the cycle finds it not holding and tries again
                    self.say(record.lease_id, f"adopt_failed: {error}")

    def observe(self) -> list[reconcile.Observed]:
        return [
            reconcile.Observed(
                lease_id=record.lease_id, token=record.token, version=record.version, state=record.state,
                ends_at_ns=record.ends_at_ns, gate_closed=record.gate_closed, draining_ns=record.draining_ns,
                holding=record.holder is None or self.enforcer.holds(record.spec, record.holder),
                populated=record.state != LeaseState.DRAINING or self._has_programs(record),
                limits_short=record.limits_short,
            )
            for record in self.state.slices.values()
        ]  # fmt: skip

    def _has_programs(self, record: SliceRecord) -> bool:
        """Whether a tenant's process is left; what only holds the namespaces need not be waited for."""
        holder = record.holder.pid if record.holder is not None else 0
        return any(pid != holder for pid in self.enforcer.processes(record.spec))

    def carry_out(self, action: reconcile.Action, *, now_ns: int) -> None:
        """Do one action; what fails is said and tried again at the next cycle."""
        lease_id = (
            action.lease.lease_id if isinstance(action, reconcile.Prepare | reconcile.Adjust) else action.lease_id
        )
        if now_ns < self._retry_ns.get(lease_id, 0):
            return
        try:
            self._do(action, now_ns)
            self._retry_ns.pop(lease_id, None)
        except (OSError, LaunchFailed, NoRoom, CannotShare) as error:
            self.say(lease_id, f"{type(action).__name__.lower()}_failed: {error}")
            self._retry_ns[lease_id] = now_ns + RETRY_NS
            if isinstance(action, reconcile.Prepare):
                self.failures[lease_id] = (action.lease, str(error)[:400])

    def _do(self, action: reconcile.Action, now_ns: int) -> None:
        match action:
            case reconcile.Prepare(lease):
                self._prepare(lease)
            case reconcile.Repair(lease_id):
                self._repair(lease_id)
                self.say(lease_id, "repaired: the slice's namespaces had died and were made again")
            case reconcile.Adjust(lease):
                self._adjust(lease)
            case reconcile.Retry(lease_id):
                self._apply_limits(lease_id)
            case reconcile.Gate(lease_id, closed, suspended):
                self._gate(lease_id, closed=closed, suspended=suspended)
            case reconcile.Drain(lease_id, reason, at_once):
                self._drain(lease_id, reason, None if at_once else now_ns)
            case reconcile.Kill(lease_id):
                self.enforcer.kill(self.state.slices[lease_id].spec)
                self.at("slice.killed")
            case reconcile.Remove(lease_id):
                self._remove(lease_id)

    def _prepare(self, lease: DesiredLease) -> None:
        record = self.state.slices.get(lease.lease_id)
        if record is None or record.token != lease.token:
            record = self._new_record(lease)
            self.state.put(record)
        self.at("slice.recorded")
        record = self.cards.prepare(record)
        self.state.put(record)
        holder = self.enforcer.prepare(record.spec, None)
        self.at("slice.made")
        # Of an instance of a cut card the driver tells no process's time: unknown is not zero.
        is_read = record.card is None or record.card.mode != "mig"
        terms = Terms(
            record.share_permille, record.memory_mib, record.compute_units, record.token, is_read=is_read
        )  # fmt: skip
        self.books.open(lease.lease_id, self.gauge.read(record) or Counters(0), terms, window_s=self.window_s)
        self._watch(record)
        self.at("slice.metered")
        self.state.put(replace(
            record, state=LeaseState.READY, version=lease.version, holder_pid=holder.pid,
            holder_ticks=holder.start_ticks,
        ))  # fmt: skip
        self.failures.pop(lease.lease_id, None)
        self.at("slice.ready")

    def _new_record(self, lease: DesiredLease) -> SliceRecord:
        device = self.devices.get(lease.device_key)
        if device is None:
            raise NoRoom(f"this node has no device {lease.device_key!r}")
        return SliceRecord(
            lease_id=lease.lease_id, token=lease.token, version=0, state=LeaseState.PREPARING,
            device_key=device.key, uid=self._free_uid(), memory_mib=lease.slice.memory_mib,
            share_permille=lease.slice.share_permille, compute_units=device.time_units, icd=device.icd,
            devices=device.nodes, ends_at_ns=reconcile.end_ns(lease),
            cpu_permille=self.config.card_cpu_permille if device.kind == DeviceKind.NVIDIA else None,
            slots=None if lease.slots is None else (lease.slots.first, lease.slots.end),
        )  # fmt: skip

    def _free_uid(self) -> int:
        if not self.enforcer.own_uid:
            return self.enforcer.uid
        taken = {record.uid for record in self.state.slices.values()} | uids_in_use()
        size = UID_LAST - UID_FIRST + 1
        for step in range(size):
            uid = UID_FIRST + (self.config.uid_start - UID_FIRST + step) % size
            if uid not in taken:
                return uid
        raise NoRoom("no free uid for another slice")

    def _repair(self, lease_id: str) -> None:
        record = self.state.slices[lease_id]
        holder = self.enforcer.prepare(record.spec, record.holder)
        self._watch(self.state.change(lease_id, holder_pid=holder.pid, holder_ticks=holder.start_ticks))

    def _watch(self, record: SliceRecord) -> None:
        """Take a slice of a card into the thread that meters cards; once is enough, again does no harm."""
        last = self.books.latest(record.lease_id)
        unfenced = self.cards.made(record, busy_ns=last.compute_ns if last is not None else 0)
        if unfenced:
            self.say(record.lease_id, f"memory_unfenced: {unfenced}")

    def _adjust(self, lease: DesiredLease) -> None:
        record = self.state.slices[lease.lease_id]
        wanted = lease.slice
        same = (wanted.memory_mib, wanted.share_permille) == (record.memory_mib, record.share_permille)
        if not same:
            sized = self.cards.resize(record, memory_mib=wanted.memory_mib, share_permille=wanted.share_permille)
            self._change_terms(record, share_permille=wanted.share_permille, memory_mib=wanted.memory_mib)
            record = sized
        self.state.put(replace(record, version=lease.version, ends_at_ns=reconcile.end_ns(lease)))
        self.at("slice.adjusted")
        if not same:
            self._apply_limits(lease.lease_id)

    def _apply_limits(self, lease_id: str) -> None:
        record = self.state.slices[lease_id]
        short = not self.enforcer.resize(record.spec)
        self._watch(record)
        if short != record.limits_short:
            self.state.change(lease_id, limits_short=short)

    def _gate(self, lease_id: str, *, closed: bool, suspended: bool) -> None:
        record = self.state.slices[lease_id]
        if self._is_still_off(record, suspended=suspended):
            return
        state = LeaseState.SUSPENDED if suspended else LeaseState.READY
        self._change_terms(record, open=not closed, state=state)
        record = self.state.change(lease_id, gate_closed=closed, state=state)
        self.at("slice.gated")
        if suspended and record.card is not None:
            self.cards.suspender.want(record.spec, suspended=True)
        else:
            self.enforcer.close_gate(record.spec, closed=closed)
        if not suspended:
            self.say(lease_id, "gate_closed: no word from the server" if closed else "gate_opened")

    def _is_still_off(self, record: SliceRecord, *, suspended: bool) -> bool:
        """A slice of a card comes back in its own time: until then it is suspended, and nothing is granted."""
        if record.card is None or suspended or record.state != LeaseState.SUSPENDED:
            return False
        self.cards.suspender.want(record.spec, suspended=False)
        return self.cards.suspender.is_off(record.lease_id)

    def _drain(self, lease_id: str, reason: str, now_ns: int | None) -> None:
        """With a grace from `now_ns` on; None is at once."""
        if lease_id in self.books:
            self._change_terms(self.state.slices[lease_id], open=False, state=LeaseState.DRAINING)
        record = self.state.change(lease_id, state=LeaseState.DRAINING, draining_ns=now_ns, end_reason=reason)
        self.at("slice.draining")
        if now_ns is None:
            self.enforcer.cut_off(record.spec, reason=reason)
        else:
            self.enforcer.terminate(record.spec, reason=reason)

    def _remove(self, lease_id: str) -> None:
        record = self.state.slices[lease_id]
        if self.enforcer.is_populated(record.spec):
            return
        # A superseded lease comes back under a new token: its open window goes on, for one key may close once.
        if record.end_reason != "superseded":
            self.books.close(lease_id, self._counters(record))
        elif lease_id in self.books:
            self.books.tick(lease_id, self._counters(record))
        self.cards.cards.forget(lease_id)
        self.at("slice.settled")
        if self.enforcer.remove(record.spec):
            self.at("slice.removed")
            self.cards.release(record)
            self.audits.pop(lease_id, None)
            self.gauge.forget(lease_id)
            self.state.end(lease_id, windows_closed=self.books.windows_closed(lease_id))

    def _counters(self, record: SliceRecord) -> Counters | None:
        """None when the group is gone (removed before a crash, by a reboot, by somebody's hand) or a card is silent."""
        try:
            return self.gauge.read(record)
        except FileNotFoundError:
            return None

    def _change_terms(self, record: SliceRecord, **terms: object) -> None:
        self.books.change(record.lease_id, self._counters(record), **terms)

    def vacate(self, *, reason: str, grace_s: float) -> None:
        """The node's agent stops for good: end every slice, but remember the leases for the next start."""
        for record in list(self.state.slices.values()):
            if record.state in {LeaseState.READY, LeaseState.SUSPENDED}:
                self._change_terms(record, open=False)
                self.enforcer.terminate(record.spec, reason=reason)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and any(self._has_programs(record) for record in self.state.slices.values()):
            time.sleep(0.02)
        for record in list(self.state.slices.values()):
            self.enforcer.kill(record.spec)
            self.cards.cards.forget(record.lease_id)
            self.enforcer.remove(record.spec)
            self.cards.release(record)
            if record.state in {LeaseState.READY, LeaseState.SUSPENDED}:
                self.state.change(record.lease_id, state=LeaseState.PREPARING, gate_closed=False)

    def settle_strays(self, wanted: dict[str, DesiredLease]) -> None:
        """Close meters whose slice is gone and will not come back."""
        for lease_id in self.books.leases() - self.state.slices.keys() - wanted.keys():
            self.books.close(lease_id, None)

    def sample_all(self) -> None:
        for record in self.state.slices.values():
            if record.lease_id in self.books:
                try:
                    self.books.tick(record.lease_id, self._counters(record))
                except OSError as error:
                    self.say(record.lease_id, f"sample_failed: {error}")

    def audit_all(self) -> None:
        for record in self.state.slices.values():
            if record.state == LeaseState.READY:
                try:
                    audit = self.audits.setdefault(record.lease_id, Audit(escape=self.config.cards.escape))
                    found = audit.look(self.enforcer, record.spec, users=self.cards.cards.users(record.lease_id))
                except OSError as error:
                    found = [f"audit_failed: {error}"]
                for event in found:
                    self.say(record.lease_id, event)
        for name, event in self.cards.take_events():
            self._say_of(name, event)

    def _say_of(self, name: str, event: str) -> None:
        """Of a lease, or of a card: then to every slice on it."""
        on_it = [
            record.lease_id for record in self.state.slices.values() if name in {record.lease_id, record.device_key}
        ]
        for lease_id in on_it:
            self.say(lease_id, event)
        if not on_it:
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name} {event}\n")

    def say(self, lease_id: str, event: str) -> None:
        """Keep an event for the server and tell the log; the same words come again after a minute at the soonest."""
        now_s = time.monotonic()
        self._said = {words: at for words, at in self._said.items() if now_s - at < REPEAT_S}
        if (lease_id, event) not in self._said:
            self._said[lease_id, event] = now_s
            self.events.setdefault(lease_id, deque(maxlen=EVENTS_KEPT)).append(event[:400])
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {lease_id} {event}\n")

    def reports(self) -> list[LeaseReport]:
        """Everything the server should know now, ended leases that it has not taken note of among them."""
        isolation = self.enforcer.isolation
        found = [
            LeaseReport(
                lease_id=record.lease_id, token=record.token, version=record.version, state=record.state,
                isolation=record.isolation(isolation), reason=record.end_reason,
                events=self._first_events(record.lease_id),
            )
            for record in self.state.slices.values()
        ]  # fmt: skip
        known = {report.lease_id for report in found}
        found += [
            LeaseReport(lease_id=lease_id, token=lease.token, version=0, state=LeaseState.PREPARING, reason=why,
                        events=self._first_events(lease_id))
            for lease_id, (lease, why) in self.failures.items() if lease_id not in known
        ]  # fmt: skip
        found += [
            LeaseReport(lease_id=lease_id, token=token, version=0, state=LeaseState.GONE, isolation=isolation,
                        reason=reason, events=self._first_events(lease_id))
            for lease_id, (token, reason) in self.state.unreported.items() if lease_id not in known
        ]  # fmt: skip
        return found

    def _first_events(self, lease_id: str) -> list[str]:
        return list(self.events.get(lease_id, ()))[:EVENTS_A_SYNC]

    def answered(self, told: list[LeaseReport], wanted: dict[str, DesiredLease]) -> None:
        """The server took these reports: drop what it knows, and failures of leases that it no longer wants."""
        for report in told:
            waiting = self.events.get(report.lease_id, deque())
            for _ in range(min(len(waiting), len(report.events))):
                waiting.popleft()
            if not waiting:
                self.events.pop(report.lease_id, None)
            if report.state == LeaseState.GONE:
                self.state.acknowledge_end(report.lease_id, report.token)
        self.failures = {lease_id: kept for lease_id, kept in self.failures.items() if lease_id in wanted}
