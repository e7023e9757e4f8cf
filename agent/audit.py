"""What a slice does beside its limiter: processes that compute without a slot, and files that were tampered with.

An event, not a verdict: on a CPU the kernel's fence holds and the meter counts whatever the library sees; on a card the
operator may say that it ends the process (`escape=kill`). Processes come from the slice's own group; what the guest
wrote into its slots is only compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.enforce.port import Enforcer, SliceSpec
from agent.host import ProcessView, view_process
from agent.region import Damaged, UsageHints
from vxpu.units import MIB

UNREGISTERED_CPU_NS = 200_000_000
NOBODY: Mapping[int, int] = {}


@dataclass(slots=True)
class Audit:
    """One slice's. `look` is called every few seconds and answers what is new."""

    last_cpu: dict[tuple[int, int], int] = field(default_factory=dict)
    suspects: set[tuple[int, int]] = field(default_factory=set)
    reported: set[tuple[int, int]] = field(default_factory=set)
    damage: str = ""
    oom_kills: int | None = None
    unknown_symbols: int = 0
    escape: str = "report"

    def look(self, enforcer: Enforcer, spec: SliceSpec, *, users: Mapping[int, int] = NOBODY) -> list[str]:
        """`users`: of a slice of a card, the pids that its driver lists on it, with their bytes."""
        hints, events = self._look_at_region(enforcer, spec)
        views = [view for pid in enforcer.processes(spec) if (view := view_process(pid)) is not None]
        if spec.card is None:
            events += self._look_at_processes(views, hints)
        elif not spec.card.inert:
            events += self._look_at_card(enforcer, spec, [view for view in views if view.pid in users], hints, users)
        kills = enforcer.sample(spec).oom_kills
        if self.oom_kills is not None and kills > self.oom_kills:
            events.append(f"memory_fence: {kills - self.oom_kills} process(es) ended by the kernel at the memory cap")
        self.oom_kills = kills
        return events

    def _look_at_region(self, enforcer: Enforcer, spec: SliceSpec) -> tuple[UsageHints | None, list[str]]:
        try:
            hints = enforcer.region(spec).read_hints()
        except Damaged as error:
            events = [] if str(error) == self.damage else [f"usage_file_damaged: {error}"]
            self.damage = str(error)
            return None, events
        self.damage = ""
        return hints, self._look_at_symbols(hints)

    def _look_at_symbols(self, hints: UsageHints) -> list[str]:
        """A driver newer than the library. The count is the guest's own, so it is told at each doubling only."""
        if hints.unknown_symbols <= 2 * self.unknown_symbols:
            return []
        self.unknown_symbols = hints.unknown_symbols
        return [f"unknown_variant: {hints.unknown_symbols} look-up(s) of driver calls that the limiter does not know"]

    def _look_at_card(
        self, enforcer: Enforcer, spec: SliceSpec, views: list[ProcessView], hints: UsageHints | None,
        users: Mapping[int, int],
    ) -> list[str]:  # fmt: skip
        """A process has its slot before it has a context, so one that is seen twice without a slot has none.

        It is billed all the same, for the meter asks the driver. Without a readable slot table nobody is killed: the
        damage is said, and it may be another's doing.
        """
        slots = {(slot.ns_pid, slot.start_ticks) for slot in hints.slots} if hints else set()
        bare = [view for view in views if (view.ns_pid, view.start_ticks) not in slots]
        names = {(view.pid, view.start_ticks) for view in bare}
        events = []
        for view in bare:
            name = (view.pid, view.start_ticks)
            if name not in self.suspects or name in self.reported:
                continue
            self.reported.add(name)
            is_killed = (
                self.escape == "kill" and hints is not None and enforcer.end_process(spec, view.pid, view.start_ticks)
            )
            events.append(
                f"unregistered_use: process {view.ns_pid} ({view.command}) is on the card "
                f"({users[view.pid] // MIB} MiB) without a slot of the limiter{'; killed' if is_killed else ''}"
            )
        self.suspects = names
        self.reported &= names
        return events

    def _look_at_processes(self, views: list[ProcessView], hints: UsageHints | None) -> list[str]:
        slots = {(slot.ns_pid, slot.start_ticks) for slot in hints.slots} if hints else set()
        events = []
        now = {}
        now_suspect = set()
        for view in views:
            name = (view.pid, view.start_ticks)
            now[name] = view.cpu_ns
            spent = view.cpu_ns - self.last_cpu.get(name, 0)
            if (view.ns_pid, view.start_ticks) in slots or name in self.reported:
                continue
            if spent < UNREGISTERED_CPU_NS:
                continue
            now_suspect.add(name)  # an honest program computes a little before its first OpenCL call
            if name in self.suspects:
                self.reported.add(name)
                events.append(
                    f"unregistered_use: process {view.ns_pid} ({view.command}) takes CPU ({spent // 1_000_000} ms "
                    "since the last look) without a slot of the limiter"
                )
        self.last_cpu, self.suspects = now, now_suspect
        self.reported &= now.keys()
        return events
