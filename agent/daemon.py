"""The node daemon: timers, signals, and one cycle that makes the world as the server wants it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from agent import status
from agent.books import Books
from agent.card_leases import CardLeases
from agent.cards import Cards
from agent.cdi import open_cdi
from agent.client import FromProgram, Link, ToProgram, post_usage
from agent.clock import Anchor, ServerClock
from agent.config import Config
from agent.credential import Credential, NotEnrolled
from agent.devices.inventory import Inventory
from agent.doorway import Doorway
from agent.enforce.modes.choose import open_sharing
from agent.enforce.port import Enforcer
from agent.enforce.select import open_enforcer
from agent.hooks import Hooks
from agent.host import boot_id, host_report
from agent.keeper import Keeper
from agent.lookout import Lookout
from agent.reconcile import SECOND_NS, decide
from agent.remote import RemotePrograms
from agent.spool import Spool
from agent.state import State
from vxpu.states import LeaseState
from vxpu.wire.node import Desired, DesiredLease, LeaseReport, Samples, Sync, Watch
from vxpu.wire.usage import MAX_BATCH

BUSY_S = 0.05
USAGE_S = 0.25
USAGE_LONGEST_S = 5.0
FLUSH_S = 3.0
DEFAULT_AUTHORITY_S = 25
DEFAULT_GRACE_S = 5


class AlreadyRunning(RuntimeError):
    """Another agent works on this state folder."""


def _nowhere(_: str) -> None:
    """The crash point that does not crash: tests give another."""


class Daemon:
    """Wires the rooms together. Construct, then `asyncio.run(daemon.run())`."""

    def __init__(self, config: Config, *, at: Callable[[str], None] = _nowhere) -> None:
        self.config = config
        self.at = at
        _make_folders(config)
        self._lock = _lock(config.state_dir / "lock")
        self.boot = boot_id()
        self.credential = Credential(config.state_dir)
        self._contact_file = config.run_dir / "contact.json"
        contact = self._read_contact()
        anchor = Anchor(**contact["anchor"]) if contact else None
        self.clock = ServerClock(wall_ns=time.time_ns(), mono_ns=time.monotonic_ns(), anchor=anchor)
        self.contact_mono_ns: int | None = contact["mono_ns"] if contact else None
        self.authority_s = contact["authority_s"] if contact else DEFAULT_AUTHORITY_S
        self.grace_s = contact["grace_s"] if contact else DEFAULT_GRACE_S
        self.desired: dict[str, DesiredLease] | None = None
        self.kick = asyncio.Event()
        self._stopping = False
        self._told: dict[int, list[LeaseReport]] = {}
        self._takes_host = False
        self._last_signature: object = None
        self._due = {"sample": 0, "audit": 0, "status": 0}

    async def run(self) -> None:
        """Enrol if need be, take over what runs, then serve until a signal. Raises NotEnrolled, Unavailable."""
        self._enrol_once()
        self.enforcer: Enforcer = open_enforcer(self.config)
        self.inventory = Inventory(self.config)
        self.inventory.discover()
        self.spool = Spool(self.config.state_dir / "spool", crash_point=self.at)
        cards = self._open_cards()
        books = Books(self.spool, self.clock, node_id=self.credential.node_id, boot=self.boot)
        self.keeper = Keeper(
            self.config, state=State.load(self.config.state_dir / "slices.json"), enforcer=self.enforcer, books=books,
            cards=cards, devices=self.inventory.devices, at=self.at,
        )  # fmt: skip
        self.keeper.adopt()
        cards.forget_others(set(self.keeper.state.slices))
        cards.cards.start()
        self.link = Link(self.credential, self.clock, self, boot=self.boot)
        self.doorway = Doorway(
            self.config, state=self.keeper.state, enforcer=self.enforcer, credential=self.credential,
            now_s=self._now_s, grace_s=lambda: self.grace_s,
        )  # fmt: skip
        self.remote = RemotePrograms(self.doorway)
        self.lookout = Lookout(self.keeper, self.clock)
        loop = asyncio.get_running_loop()
        self.hooks = Hooks(
            self.config, self.enforcer, start=self.doorway.start_own,
            wake=lambda: self._wake(loop),
        )  # fmt: skip
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        sys.stderr.write(f"vxpu-agent: {self.credential.node_id}: {self.enforcer.isolation}: {self.enforcer.detail}\n")
        await self._serve()

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """From another thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent stops
            loop.call_soon_threadsafe(self.kick.set)

    def _open_cards(self) -> CardLeases:
        """What slices of cards need, whether or not there is a card here now."""
        door = self.inventory.nvidia
        return CardLeases(
            self.config, self.enforcer, door=door, sharing=open_sharing(self.config, door, self.enforcer),
            cdi=open_cdi(self.config), cards=Cards(door, self.enforcer, self.config.cards),
            devices=self.inventory.devices,
        )  # fmt: skip

    async def _serve(self) -> None:
        tasks = [
            asyncio.create_task(work, name=name)
            for name, work in (("link", self.link.run()), ("doorway", self.doorway.serve()),
                               ("usage", self._send_usage()), ("inventory", self._read_devices()))
        ]  # fmt: skip
        cycles = asyncio.create_task(self._cycles(), name="cycles")
        try:
            done, _ = await asyncio.wait([*tasks, cycles], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (*tasks, cycles):
                task.cancel()
            await asyncio.gather(*tasks, cycles, return_exceptions=True)
            await self._wind_up()

    def _stop(self) -> None:
        self._stopping = True
        self.kick.set()

    async def _wind_up(self) -> None:
        """Ordered end: slices stay for the next agent, or end with this one (`on_stop`); usage is sent if it can be."""
        await asyncio.to_thread(self.keeper.cards.cards.stop)
        self.keeper.sample_all()
        if self.config.on_stop == "end":
            await asyncio.to_thread(self.keeper.vacate, reason="node_stopped", grace_s=self.grace_s)
        try:
            async with httpx.AsyncClient(timeout=FLUSH_S) as http:
                await self._send_batch(http)
        except (httpx.HTTPError, ValueError) as error:
            sys.stderr.write(f"usage: {self.spool.pending_count} windows stay in the spool: {error}\n")
        self._write_status()
        self.spool.close()
        self.enforcer.shut_down()
        self.config.exec_socket.unlink(missing_ok=True)

    async def _cycles(self) -> None:
        while not self._stopping:
            acted = self._cycle()
            wait_s = BUSY_S if acted or self._is_draining() else self._until_due_s()
            try:
                await asyncio.wait_for(self.kick.wait(), wait_s)
            except TimeoutError:
                continue
            finally:
                self.kick.clear()

    def _cycle(self) -> bool:
        """Decide and act once; whether anything was done."""
        mono_ns = time.monotonic_ns()
        now_ns = self.clock.now_ns(mono_ns)
        state = self.keeper.state
        actions = decide(
            desired=self.desired, observed=self.keeper.observe(), tokens_seen=state.tokens_seen, ended=state.ended,
            has_authority=self.has_authority(mono_ns), now_ns=now_ns, grace_ns=self.grace_s * SECOND_NS,
        )  # fmt: skip
        for action in actions:
            self.keeper.carry_out(action, now_ns=now_ns)
        if self.desired is not None:
            self.keeper.settle_strays(self.desired)
        for lease_id, words in self.hooks.tend(self.desired, state.slices, now_ns=now_ns):
            self.keeper.say(lease_id, words)
        if self._is_due("sample", mono_ns, self.config.sample_s) or self._is_border_past(now_ns):
            self.keeper.sample_all()
        if self._is_due("audit", mono_ns, self.config.audit_s):
            self.keeper.audit_all()
        self._tell_if_changed()
        if self._is_due("status", mono_ns, 1.0) or actions:
            self._write_status()
        return bool(actions)

    def has_authority(self, mono_ns: int) -> bool:
        """Whether the server's last answer to us was asked for less than `authority_s` ago."""
        if self.contact_mono_ns is None:
            return False
        return mono_ns - self.contact_mono_ns <= self.authority_s * SECOND_NS

    def make_sync(self, seq: int) -> Sync:
        reports = self._reports()
        self._told[seq] = reports
        return Sync(
            seq=seq,
            sent_at=datetime.fromtimestamp(self.clock.now_ns(time.monotonic_ns()) / SECOND_NS, UTC),
            devices=self.inventory.reports(
                isolation=self.enforcer.isolation, detail=self.enforcer.detail, badge=self.keeper.cards.sharing.badge
            ),
            leases=reports,
            host=host_report(self.config.host_reserve_permille) if self._takes_host else None,
        )

    def _reports(self) -> list[LeaseReport]:
        answers = self.hooks.answers()
        return [
            report.model_copy(update={"hook": answers[report.lease_id]}) if report.lease_id in answers else report
            for report in self.keeper.reports()
        ]

    def on_desired(self, desired: Desired, *, sent_mono_ns: int | None, received_mono_ns: int) -> None:
        self.desired = {lease.lease_id: lease for lease in desired.leases}
        self.authority_s, self.grace_s = desired.authority_s, desired.grace_s
        self.keeper.window_s = desired.window_s
        self._takes_host = bool(desired.takes_host)
        if sent_mono_ns is not None:  # an answer: how old the server's word is counts from our question
            server_ns = int(desired.sent_at.timestamp() * 1_000_000) * 1000
            self.clock.observe(server_ns=server_ns, sent_mono_ns=sent_mono_ns, received_mono_ns=received_mono_ns)
            self.contact_mono_ns = sent_mono_ns
            self._write_contact()
            self.keeper.answered(self._told.pop(desired.answers_seq, []), self.desired)
            self._told = {seq: told for seq, told in self._told.items() if seq > desired.answers_seq}
        self.kick.set()

    def on_exec(self, order: ToProgram, send: Callable[[FromProgram], None]) -> None:
        self.remote.take(order, send)

    def on_watch(self, order: Watch, send: Callable[[Samples], None]) -> None:
        self.lookout.watch(order, send)

    def on_disconnect(self) -> None:
        self.remote.leave()
        self.lookout.leave()

    def _enrol_once(self) -> None:
        if self.credential.enrolment is not None:
            self.credential.follow(server=self.config.server, socket_url=self.config.socket_url)
            return
        if self.config.token_file is None:
            raise NotEnrolled("this node is not enrolled: give --token-file with a one-time token")
        token = self.config.token_file.read_text()
        self.credential.enrol(server=self.config.server, one_time_token=token)

    async def _send_usage(self) -> None:
        wait_s = USAGE_S
        async with httpx.AsyncClient(timeout=10) as http:
            while True:
                await asyncio.sleep(wait_s)
                try:
                    await self._send_batch(http)
                    wait_s = USAGE_S
                except (httpx.HTTPError, ValueError) as error:
                    wait_s = min(USAGE_LONGEST_S, wait_s * 2)
                    sys.stderr.write(f"usage: {self.spool.pending_count} windows wait: {error}\n")

    async def _send_batch(self, http: httpx.AsyncClient) -> None:
        batch = self.spool.batch(MAX_BATCH)
        done = await post_usage(http, self.credential, batch, now_s=self._now_s())
        if done:
            self.at("usage.posted")
            self.spool.acknowledge(done)

    async def _read_devices(self) -> None:
        while True:
            await asyncio.to_thread(self.inventory.read)
            await asyncio.sleep(max(1.0, self.link.heartbeat_s))

    def _tell_if_changed(self) -> None:
        for trouble in list(self.spool.troubles):
            self.spool.troubles.remove(trouble)
            for lease_id in list(self.keeper.state.slices)[:1]:
                self.keeper.say(lease_id, trouble)
        signature = [(report.lease_id, report.token, report.version, report.state, len(report.events), report.hook)
                     for report in self._reports()]  # fmt: skip
        if signature != self._last_signature:
            self._last_signature = signature
            self.link.wake.set()

    def _is_due(self, what: str, mono_ns: int, every_s: float) -> bool:
        if mono_ns < self._due[what]:
            return False
        self._due[what] = mono_ns + int(every_s * SECOND_NS)
        return True

    def _is_border_past(self, now_ns: int) -> bool:
        border = self.keeper.books.next_border_ns()
        return border is not None and now_ns >= border

    def _until_due_s(self) -> float:
        mono_ns = time.monotonic_ns()
        waits = [due - mono_ns for due in self._due.values()]
        border = self.keeper.books.next_border_ns()
        if border is not None:
            waits.append(border - self.clock.now_ns(mono_ns))
        # The gates close at that moment, not at the next sample: somebody else may run it some seconds later.
        if self.has_authority(mono_ns) and self.contact_mono_ns is not None:
            waits.append(self.contact_mono_ns + self.authority_s * SECOND_NS + 1 - mono_ns)
        return max(0.001, min(waits) / SECOND_NS)

    def _is_draining(self) -> bool:
        return any(record.state == LeaseState.DRAINING for record in self.keeper.state.slices.values())

    def _now_s(self) -> int:
        return self.clock.now_ns(time.monotonic_ns()) // SECOND_NS

    def _write_status(self) -> None:
        report = status.describe(
            self.keeper, self.inventory, node_id=self.credential.node_id, spool=self.spool,
            is_connected=self.link.is_connected, has_authority=self.has_authority(time.monotonic_ns()),
            trouble=self.link.trouble, enforcer=self.enforcer,
        )  # fmt: skip
        _replace(self.config.state_dir / status.FILE, json.dumps(report))
        _replace(self.config.run_dir / "metrics.prom", status.metrics_text(self.keeper))

    def _write_contact(self) -> None:
        anchor = self.clock.anchor
        if anchor is not None:
            _replace(self._contact_file, json.dumps({
                "boot": self.boot, "mono_ns": self.contact_mono_ns, "authority_s": self.authority_s,
                "grace_s": self.grace_s,
                "anchor": {"server_ns": anchor.server_ns, "mono_ns": anchor.mono_ns, "error_ns": anchor.error_ns},
            }))  # fmt: skip

    def _read_contact(self) -> dict[str, Any] | None:
        """What a former run of this boot knew of the server's clock and of its own authority."""
        try:
            contact: dict[str, Any] = json.loads(self._contact_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return contact if contact.get("boot") == self.boot else None


def _make_folders(config: Config) -> None:
    for folder, mode in ((config.state_dir, 0o700), (config.run_dir, 0o755), (config.run_dir / "slices", 0o700)):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise AlreadyRunning(f"another agent holds {path}") from error
    return descriptor


def _replace(path: Path, text: str) -> None:
    """Whole or old, but not forced to the disk: it may be old after a power cut, never half."""
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError as error:
        sys.stderr.write(f"{path}: {error.strerror}\n")
