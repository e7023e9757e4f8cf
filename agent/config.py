"""Settings of the agent: from the command line and the environment, frozen once read."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UID_FIRST = 61000
UID_LAST = 64999


@dataclass(frozen=True, slots=True)
class Config:
    """`state_dir` outlives a reboot (keys, slices, spool); `run_dir` need not (socket, regions, scratch).

    `expose` are folders that every slice sees read-only at their own path; `hide` are paths that no slice sees even
    when they lie inside an exposed one. `runtime_mib` is what a slice's interpreter and compiler may take beyond the
    memory that was bought (it comes out of the host reserve). `card_cpu_permille` is the processor time of a slice of a
    card, in permille of one processor; 0: no quota, only a weight (a card's program needs its host threads unhurried).
    """

    server: str
    state_dir: Path
    run_dir: Path
    token_file: Path | None = None
    socket_url: str = ""
    socket_path: Path | None = None
    library: Path = ROOT / "native" / "build" / "libvxpu.so"
    expose: tuple[Path, ...] = ()
    hide: tuple[Path, ...] = ()
    mode: str = "auto"
    on_stop: str = "keep"
    runtime_mib: int = 512
    card_cpu_permille: int = 0
    host_reserve_permille: int = 250
    audit_s: float = 2.0
    sample_s: float = 1.0
    extra_environment: dict[str, str] = field(default_factory=dict)

    @property
    def exec_socket(self) -> Path:
        return self.socket_path or self.run_dir / "agent.sock"

    @property
    def cgroup_name(self) -> str:
        """Two agents on one machine (a test beside a service) keep apart: the name follows the state folder."""
        return "vxpu-" + hashlib.sha256(str(self.state_dir.resolve()).encode()).hexdigest()[:8]

    @property
    def uid_start(self) -> int:
        """Where in the slice range this agent starts to look for free uids."""
        spread = int(hashlib.sha256(str(self.state_dir.resolve()).encode()).hexdigest()[:6], 16)
        return UID_FIRST + spread % (UID_LAST - UID_FIRST + 1)


def host_reserve_permille() -> int:
    """What the host keeps of each CPU device, in permille (VXPU_HOST_RESERVE_PERMILLE, 250)."""
    value = int(os.environ.get("VXPU_HOST_RESERVE_PERMILLE", "250"))
    if not 0 <= value < 1000:
        raise ValueError(f"VXPU_HOST_RESERVE_PERMILLE={value} is not within 0..999")
    return value


def interpreter_paths() -> tuple[Path, ...]:
    """The folders that make this Python run: its environment and the installation behind it."""
    found = {Path(sys.prefix), Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    return tuple(sorted(path for path in found if path not in {Path("/usr"), Path("/")}))


def agent_version() -> str:
    try:
        return metadata.version("vxpu-market")
    except metadata.PackageNotFoundError:
        return "0.1.0"
