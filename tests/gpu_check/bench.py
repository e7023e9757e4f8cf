"""The card under test, slices of it, and the programs that run in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pynvml

from agent.devices.nvidia import NvidiaPort
from agent.devices.port import Device
from agent.gain import WHOLE_PPM, GainReading, next_gain_ppm
from agent.region import CardLimits, Region, RegionLimits

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native" / "build"
FAKE = NATIVE / "fake"
LIMITER = NATIVE / "libvxpu-test.so"  # takes the region's folder from the environment
GAIN_S = 0.5
WAIT_S = 120


class Trouble(RuntimeError):
    """A step that could not be carried out; the text says why."""


def words(text: str) -> dict[str, int]:
    """The `name=value` words of a test program's last line."""
    last = text.strip().splitlines()[-1] if text.strip() else ""
    return {name: int(value) for name, value in (word.split("=", 1) for word in last.split() if "=" in word)}


@dataclass
class Slice:
    """A region of its own, and the environment of programs that live in it."""

    region: Region
    limits: RegionLimits
    env: dict[str, str]

    def resize(self, *, memory_mib: int | None = None, share_permille: int | None = None) -> None:
        self.limits = RegionLimits(
            memory_mib or self.limits.memory_mib, share_permille or self.limits.share_permille, 1, 0,
            card=self.limits.card,
        )  # fmt: skip
        self.region.write(self.limits)


@dataclass
class Bench:
    """One card. `steps_per_ns`: how many steps of the spinning kernel last a nanosecond on it, when it is alone."""

    door: NvidiaPort
    device: Device
    folder: Path
    env: dict[str, str]
    steps_per_ns: float = 1.0
    made: int = 0
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def uuid(self) -> UUID:
        return UUID(self.device.uuid.removeprefix("GPU-"))

    def slice(self, *, memory_mib: int | None = None, share_permille: int = 1000, spill_mib: int = 0) -> Slice:
        """`memory_mib` None: all of the card."""
        self.made += 1
        region = Region(self.folder / f"slice{self.made}", uid=os.getuid())
        card = CardLimits(self.uuid, physical_mib=self.device.memory_mib, spill_mib=spill_mib)
        limits = RegionLimits(memory_mib or self.device.memory_mib, share_permille, 1, 0, card=card)
        region.create(limits)
        env = {**self.env, "LD_PRELOAD": str(LIMITER), "VXPU_REGION_DIR": str(region.folder)}
        return Slice(region, limits, env)

    def start(self, *argv: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        guest = subprocess.Popen(
            argv, env=env or self.env, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.running.append(guest)
        return guest

    def run(self, *argv: str, env: dict[str, str] | None = None) -> str:
        """What it printed. Raises Trouble when it failed."""
        return self.finish(self.start(*argv, env=env))

    def finish(self, guest: subprocess.Popen[str]) -> str:
        try:
            out, err = guest.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired as error:
            guest.kill()
            raise Trouble(f"no end after {WAIT_S} s: {guest.args!r}") from error
        if guest.returncode != 0:
            raise Trouble(f"exit {guest.returncode}: {err.strip()[-300:] or out.strip()[-300:]}")
        return out

    def work(self, pattern: str, within: Slice | None = None, **options: int) -> subprocess.Popen[str]:
        """Start the C program `cuda_work`; `ns` is card time and becomes steps of the kernel."""
        if "ns" in options:
            options["ns"] = max(1, int(options["ns"] * self.steps_per_ns))
        args = [f"{name}={value}" for name, value in options.items()]
        return self.start(str(NATIVE / "tests/cuda_work"), pattern, *args, env=within.env if within else None)

    def device_ns(self, told: dict[str, int], *, ns: int) -> int:
        """Card time of a program's launches, by the length of its kernels when alone."""
        return told["launches"] * ns

    def clean_up(self) -> None:
        for guest in self.running:
            if guest.poll() is None:
                guest.kill()
                guest.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Gain:
    """What the agent does each half second: NVML's time of a slice against what its events measured."""

    def __init__(self, bench: Bench, slices: dict[int, Slice]) -> None:
        self.bench = bench
        self.slices = slices  # by the pid of the one program in it
        self.seen_us = int(time.time() * 1e6)
        self.busy_ns = dict.fromkeys(slices, 0)
        self.before: dict[int, GainReading] = {}
        self.ppm = dict.fromkeys(slices, WHOLE_PPM)
        self.last_us: dict[int, int] = {}

    def look(self) -> None:
        samples = self.bench.door.process_busy(self.bench.device, self.seen_us) or []
        for sample in samples:
            self.seen_us = max(self.seen_us, sample.at_us)
            if sample.pid in self.slices:
                length_us = min(1_000_000, sample.at_us - self.last_us.get(sample.pid, sample.at_us - 166_667))
                self.last_us[sample.pid] = sample.at_us
                self.busy_ns[sample.pid] += length_us * sample.sm_permille
        for pid, held in self.slices.items():
            measured_ns = held.region.read_gate().measured_ns
            now = GainReading(time.monotonic_ns(), self.busy_ns[pid], measured_ns)
            if pid in self.before:
                self.ppm[pid] = next_gain_ppm(self.before[pid], now, current_ppm=self.ppm[pid])
                held.region.publish(gain_ppm=self.ppm[pid], overhead_bytes=0, agent_debit_ns=0)
            self.before[pid] = now


def wait_for(bench: Bench, guests: dict[subprocess.Popen[str], Slice], *, gain: bool) -> list[dict[str, int]]:
    """Let programs run to their end, with or without the gain; what each told."""
    loop = Gain(bench, {guest.pid: held for guest, held in guests.items()}) if gain else None
    deadline = time.monotonic() + WAIT_S
    while any(guest.poll() is None for guest in guests) and time.monotonic() < deadline:
        time.sleep(GAIN_S)
        if loop is not None:
            loop.look()
    return [words(bench.finish(guest)) for guest in guests]


def _environment(folder: Path, *, simulated: bool) -> dict[str, str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    if not simulated:
        return env | {key: os.environ[key] for key in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES") if key in os.environ}
    cards = folder / "cards"
    cards.mkdir()
    command = [str(FAKE / "vxpu-fake-card"), "create", "--dir", str(cards), "--cards", "1"]
    subprocess.run(command, check=True, timeout=30)
    return env | {"LD_LIBRARY_PATH": str(FAKE), "VXPU_FAKE_DIR": str(cards)}


@contextmanager
def open_bench(*, simulated: bool) -> Iterator[Bench]:
    """Raises Trouble when there is no card. Nothing of the card is changed, before or after."""
    folder = Path(tempfile.mkdtemp(prefix="vxpu-gpu-check-"))
    env = _environment(folder, simulated=simulated)
    os.environ.update({key: env[key] for key in ("VXPU_FAKE_DIR",) if key in env})
    try:
        door = NvidiaPort()
        devices = door.discover()
        if not devices:
            raise Trouble("no NVIDIA card, or no driver: run it with --fake to see what it would do")
        bench = Bench(door, devices[0], folder, env)
        try:
            yield bench
        finally:
            bench.clean_up()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def has_card() -> bool:
    """Whether this machine has a card and a driver of its own."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return False
    count = int(pynvml.nvmlDeviceGetCount())
    pynvml.nvmlShutdown()
    return count > 0
