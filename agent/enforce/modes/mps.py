"""`mps`: the slices of a card run side by side through one MPS control daemon of the card's own.

The daemon is started in multi-user mode, for each slice has its own uid and without it they would take turns. What a
client may take at most is set at the daemon, outside the slices: the largest slice of the card. Each slice's own part
is told to its programs by environment, and the library holds it. Source: the MPS reference and its manual page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from agent.devices.nvidia import CardEvent
from agent.devices.port import Badge, Device
from agent.enforce.modes.port import CannotShare, CardLease, Grant, Mount, Operator
from vxpu.states import Isolation
from vxpu.units import WHOLE_PERMILLE

CONTROL = "nvidia-cuda-mps-control"
PIPES_IN_SLICE = "/run/vxpu/mps"
PID_FILE = "nvidia-cuda-mps-control.pid"
ANSWER_S = 3
AGAIN_S = 10.0
DETAIL = ("slices run side by side through MPS, each on its part of the processors; the library holds memory and time; "
          "a fault of one slice's program can end the others'")  # fmt: skip


@dataclass(slots=True)
class CardDaemon:
    """The control daemon of one card and the leases on it."""

    card: Device
    folder: Path
    leases: dict[str, CardLease]
    told: tuple[int, int] = (0, 0)
    again_s: float = 0.0


class Mps:
    name = "mps"

    def __init__(self, run_dir: Path, *, program: str = CONTROL) -> None:
        self._folder = run_dir / "mps"
        self._program = program
        self._daemons: dict[str, CardDaemon] = {}

    def fits(self, card: Device, operator: Operator) -> str:
        del operator
        if card.card is not None and card.card.mig is not None and card.card.mig.enabled:
            return "the card is cut by MIG"
        return "" if shutil.which(self._program) else f"{self._program} is not installed"

    def badge(self, card: Device, operator: Operator) -> Badge:
        del card, operator
        return Badge(Isolation.MPS, DETAIL)

    def prepare(self, lease: CardLease, card: Device) -> Grant:
        missing = self.fits(card, Operator())
        if missing:
            raise CannotShare(missing)
        daemon = self._daemons.setdefault(card.uuid, CardDaemon(card, self._folder / card.uuid, {}))
        daemon.leases[lease.lease_id] = lease
        self._start(daemon)
        self._tell(daemon)
        return self._grant(daemon, lease)

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        return self.prepare(lease, card)

    def resize(self, lease: CardLease, card: Device) -> Grant:
        """The daemon's ceilings at once; a program sees its own new part when it starts, the library's at once."""
        return self.prepare(lease, card)

    def release(self, lease_id: str, card: Device) -> None:
        """The last lease takes the daemon with it."""
        daemon = self._daemons.get(card.uuid)
        if daemon is None:
            return
        daemon.leases.pop(lease_id, None)
        if daemon.leases:
            self._tell(daemon)
            return
        self._stop(daemon.folder)
        del self._daemons[card.uuid]

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        """Daemons of an earlier run that no adopted lease uses. Call it after the leases were adopted."""
        del known
        events = []
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder.name not in self._daemons:
                self._stop(folder)
                shutil.rmtree(folder, ignore_errors=True)
                events.append(CardEvent(f"nvidia:{folder.name}", "mps_stopped: a daemon that no lease uses"))
        return events

    def tend(self) -> list[CardEvent]:
        """A daemon that died is started again; programs that were its clients have lost their context.

        Only its process is looked at: asking it costs a program, and one that hangs would hold the agent up.
        """
        events = []
        for daemon in self._daemons.values():
            if _is_alive(daemon.folder) or time.monotonic() < daemon.again_s:
                continue
            daemon.again_s = time.monotonic() + AGAIN_S
            try:
                self._start(daemon)
                daemon.told = (0, 0)
                self._tell(daemon)
                events.append(CardEvent(daemon.card.key, "mps_restarted: the card's MPS control daemon had died"))
            except CannotShare as error:
                events.append(CardEvent(daemon.card.key, f"mps_down: {error}"))
        return events

    def _start(self, daemon: CardDaemon) -> None:
        if _answers(daemon.folder, self._program):
            return
        for name, mode in (("pipe", 0o755), ("log", 0o700)):
            folder = daemon.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(mode)
        environment = {**_environment(daemon.folder), "CUDA_VISIBLE_DEVICES": daemon.card.uuid}
        for options in (["-M", "-d"], ["-d"]):  # a daemon of before multi-user mode knows the second only
            done = subprocess.run([self._program, *options], env=environment, capture_output=True, text=True,
                                  timeout=ANSWER_S, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
            if done.returncode == 0 and _answers(daemon.folder, self._program):
                return
        raise CannotShare(f"the MPS control daemon does not start: {done.stderr.strip()[:200] or 'it says nothing'}")

    def _tell(self, daemon: CardDaemon) -> None:
        """The most that any client of this card may take, for servers that run and for those to come."""
        share = max(lease.share_permille for lease in daemon.leases.values())
        memory_mib = max(lease.memory_mib for lease in daemon.leases.values())
        if daemon.told == (share, memory_mib):
            return
        percent, limit = _percent(share), f"{memory_mib}M"
        _ask(daemon.folder, self._program, f"set_default_active_thread_percentage {percent}")
        _ask(daemon.folder, self._program, f"set_default_device_pinned_mem_limit 0 {limit}")
        for server in _ask(daemon.folder, self._program, "get_server_list").split():
            _ask(daemon.folder, self._program, f"set_active_thread_percentage {server} {percent}")
            _ask(daemon.folder, self._program, f"set_device_pinned_mem_limit {server} 0 {limit}")
        daemon.told = (share, memory_mib)

    def _stop(self, folder: Path) -> None:
        if _answers(folder, self._program):
            _ask(folder, self._program, "quit")

    def _grant(self, daemon: CardDaemon, lease: CardLease) -> Grant:
        environment = {
            "CUDA_MPS_PIPE_DIRECTORY": PIPES_IN_SLICE,
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": _percent(lease.share_permille),
            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={lease.memory_mib}M",
        }
        return Grant(
            Isolation.MPS, DETAIL, nodes=daemon.card.nodes, share_permille=lease.share_permille,
            environment=environment, mounts=(Mount(str(daemon.folder / "pipe"), PIPES_IN_SLICE, read_only=False),),
        )  # fmt: skip


def _percent(share_permille: int) -> str:
    return f"{share_permille * 100 / WHOLE_PERMILLE:.1f}"


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "VXPU_FAKE_DIR") if name in os.environ}
    return {**kept, "CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log")}


def _ask(folder: Path, program: str, command: str) -> str:
    """One command to a running daemon. Raises CannotShare."""
    try:
        done = subprocess.run([program], env=_environment(folder), input=command + "\n", capture_output=True, text=True,
                              timeout=ANSWER_S, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotShare(f"the MPS control daemon does not answer: {error}") from error
    if done.returncode != 0:
        raise CannotShare(f"the MPS control daemon does not answer: {done.stderr.strip()[:200]}")
    return done.stdout


def _is_alive(folder: Path) -> bool:
    """By the file that the daemon keeps in its pipe folder; a number may have become another's, so its name counts."""
    try:
        pid = int((folder / "pipe" / PID_FILE).read_text())
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    return CONTROL.startswith(name) and rest.split()[0] not in {"Z", "X"}


def _answers(folder: Path, program: str) -> bool:
    try:
        _ask(folder, program, "get_server_list")
    except CannotShare:
        return False
    return True
