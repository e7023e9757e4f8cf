"""Settings of the agent: from the command line and the environment, frozen once read."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from importlib import metadata
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
UID_FIRST = 61000
UID_LAST = 64999

CHOICES = {
    "compute_mode": ("leave", "exclusive"), "lend": ("hard", "work-conserving"), "escape": ("report", "kill"),
    "variants": ("count", "withhold"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardPolicy:
    """What the operator wants of slices of cards; MiB and MiB/s, 0 is no limit (of `spill_mib`: none at all).

    `lend` "hard" (the share and no more) or "work-conserving" (idle time to those who wait). `escape` "report" or
    "kill": what happens to a process that uses the card past the limiter. `variants` "count" or "withhold": what
    happens to driver calls of a newer driver that the limiter does not know. `context_mib` is reserved by each process
    at its first context, `spill_mib` is a slice's managed memory beyond what it bought, `copy_mib_s` the bus of a whole
    card, of which each slice has its share. `compute_mode` "leave" or "exclusive": whether a card that is sold whole
    is put into "one process at a time". `cdi` is the folder of the CDI files (empty: where engines look, if this agent
    may write there), `dns` ends their vendor's name.
    """

    lend: str = "hard"
    escape: str = "report"
    variants: str = "count"
    context_mib: int = 500
    spill_mib: int = 0
    host_mib: int = 0
    copy_mib_s: int = 0
    compute_mode: str = "leave"
    cdi: str = ""
    dns: str = "local"

    @classmethod
    def parse(cls, words: Iterable[str]) -> Self:
        """From NAME=VALUE words, names with dashes or underscores. Raises ValueError for what is not a setting."""
        given: dict[str, str] = {}
        for word in words:
            name, _, value = word.partition("=")
            given[name.replace("-", "_")] = value
        policy = cls(**{name: _setting(cls, name, value) for name, value in given.items()})
        for name, allowed in CHOICES.items():
            if getattr(policy, name) not in allowed:
                raise ValueError(f"{name} is {' or '.join(allowed)}, not {getattr(policy, name)!r}")
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", policy.dns):
            raise ValueError(f"dns is a name of letters, digits, dots and dashes, not {policy.dns!r}")
        return policy


def _setting(policy: type[CardPolicy], name: str, value: str) -> Any:
    known = {one.name: one.default for one in fields(policy)}
    if name not in known:
        raise ValueError(f"no card setting {name!r}; there are: {', '.join(known)}")
    if isinstance(known[name], str):
        return value
    if not value.isdecimal():
        raise ValueError(f"{name} is a number of 0 or more, not {value!r}")
    return int(value)


@dataclass(frozen=True, slots=True)
class Config:
    """`state_dir` outlives a reboot (keys, slices, spool); `run_dir` need not (socket, regions, scratch).

    `expose` are folders that every slice sees read-only at their own path; `hide` are paths that no slice sees even
    when they lie inside an exposed one. `runtime_mib` is what a slice's interpreter and compiler may take beyond the
    memory that was bought (it comes out of the host reserve). `card_cpu_permille` is the processor time of a slice of a
    card, in permille of one processor; 0: no quota, only a weight (a card's program needs its host threads unhurried).
    `hook` is the operator's checkpoint or restart hook (agent/hooks.py), as words; empty for none.
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
    card_mode: str = "auto"
    cards: CardPolicy = CardPolicy()
    fake_driver: Path = ROOT / "native" / "build" / "fake"
    host_reserve_permille: int = 250
    audit_s: float = 2.0
    sample_s: float = 1.0
    hook: tuple[str, ...] = ()
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
