"""What the daemon asks of an enforcer: the same verbs whatever the machine lets us enforce."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from agent.enforce.cgroup import CgroupSample
from agent.region import Region
from vxpu.states import Isolation


class Unavailable(RuntimeError):
    """This mode cannot be enforced on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class SliceCard:
    """What a slice has of a card, as its mode gave it. `memory_mib` is the whole card's.

    `share_permille` is what the library has to hold; `inert`: nothing. `environment` and `mounts` (path of the host,
    path in the slice, whether it is read-only) are what the slice's programs need to find it.
    """

    uuid: str
    mode: str
    isolation: Isolation
    memory_mib: int
    share_permille: int
    inert: bool = False
    simulated: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str, bool], ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        pairs = {name: tuple(tuple(one) for one in data[name]) for name in ("environment", "mounts")}
        return cls(**{**data, **pairs, "isolation": Isolation(data["isolation"])})


@dataclass(frozen=True, slots=True)
class SliceSpec:
    """A slice as the node makes it. `icd` is the one OpenCL driver that it sees; `devices` as `Device.nodes`.

    `cpu_permille` is what of the host's processors it may take, in permille of one processor: None for a slice of
    the processors themselves (its share of `compute_units`), 0 for no quota, only its weight (a slice of a card).
    """

    lease_id: str
    token: int
    uid: int
    memory_mib: int
    share_permille: int
    compute_units: int
    icd: str = ""
    devices: tuple[str, ...] = ()
    cpu_permille: int | None = None
    card: SliceCard | None = None

    @property
    def cpu_quota_permille(self) -> int:
        """The fence around its processor time, in permille of one processor; 0: none."""
        return self.share_permille * self.compute_units if self.cpu_permille is None else self.cpu_permille

    def resized(self, *, memory_mib: int, share_permille: int) -> SliceSpec:
        return replace(self, memory_mib=memory_mib, share_permille=share_permille)


@dataclass(frozen=True, slots=True)
class Holder:
    """Process 1 of a slice's namespaces; pid 0 where there are none."""

    pid: int
    start_ticks: int


class Enforcer(Protocol):
    """Every method may be repeated after a crash at any point of it; each raises OSError or LaunchFailed."""

    isolation: Isolation
    detail: str
    own_uid: bool
    has_namespaces: bool
    uid: int

    def prepare(self, spec: SliceSpec, held: Holder | None) -> Holder:
        """Make the slice real, or take over the one that already runs as `held`."""

    def holds(self, spec: SliceSpec, held: Holder) -> bool:
        """Whether the slice's namespaces are still those of `held`."""

    def resize(self, spec: SliceSpec) -> bool:
        """Apply new limits live; False while memory in use keeps the cap above what is wanted."""

    def close_gate(self, spec: SliceSpec, *, closed: bool) -> None:
        """Stop (or let go on) all compute of the slice; its memory stays."""

    def terminate(self, spec: SliceSpec, *, reason: str) -> None:
        """Ask every process to end; `reason` is what its client will be told."""

    def cut_off(self, spec: SliceSpec, *, reason: str) -> None:
        """End every process behind a closed gate, without letting it run for a moment more."""

    def kill(self, spec: SliceSpec) -> None: ...

    def remove(self, spec: SliceSpec) -> bool:
        """Take the empty slice away, region and all; False while anything of it is still there."""

    def is_populated(self, spec: SliceSpec) -> bool: ...

    def processes(self, spec: SliceSpec) -> list[int]: ...

    def end_process(self, spec: SliceSpec, pid: int, started: int) -> bool:
        """Kill the process that `started` at these ticks if, at a second look, it is in the slice; whether it was."""

    def sample(self, spec: SliceSpec) -> CgroupSample: ...

    def region(self, spec: SliceSpec) -> Region: ...

    def start(self, spec: SliceSpec, holder: Holder, program: dict[str, Any], descriptors: list[int]) -> None:
        """Start a program: `program` has request, environment and grace_s; see shim.py for `descriptors`."""

    def strangers(self, known: set[str]) -> list[str]:
        """Names of slices that exist on the machine and are not `known`: left by an agent that lost its state."""

    def discard(self, name: str) -> bool: ...

    def shut_down(self) -> None: ...


def end_note(run_dir: Path, lease_id: str) -> Path:
    """Where the reason of a platform end is left for the shims of a slice."""
    return run_dir / "slices" / lease_id / "end"
