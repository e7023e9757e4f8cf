"""What a slice does beside its limiter: processes that compute without a slot, and files that were tampered with.

An event, not a verdict: on a CPU the kernel's fence holds and the meter counts whatever the library sees. Processes
come from the slice's own group; what the guest wrote into its slots is only compared with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.enforce.port import Enforcer, SliceSpec
from agent.host import ProcessView, view_process
from agent.region import Damaged, UsageHints

UNREGISTERED_CPU_NS = 200_000_000


@dataclass(slots=True)
class Audit:
    """One slice's. `look` is called every few seconds and answers what is new."""

    last_cpu: dict[tuple[int, int], int] = field(default_factory=dict)
    suspects: set[tuple[int, int]] = field(default_factory=set)
    reported: set[tuple[int, int]] = field(default_factory=set)
    damage: str = ""
    oom_kills: int | None = None

    def look(self, enforcer: Enforcer, spec: SliceSpec) -> list[str]:
        hints, events = self._look_at_region(enforcer, spec)
        views = [view for pid in enforcer.processes(spec) if (view := view_process(pid)) is not None]
        events += self._look_at_processes(views, hints)
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
        return hints, []

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
