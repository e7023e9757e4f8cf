"""Share got against share asked for, by the cgroup's CPU clock: `python -m tests.bench.bench_native_share [--quick]`.

Run as root on a machine whose cgroups are writable. `units` is 2: a machine with more cores sells two of them here.
"""

import argparse
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.native.cpu_group import CpuGroup, machine_busy_ns
from tests.native.guests import BUILD, guest_env, run
from tests.native.region import Region

UNITS = 2
WARM_UP_S = 1.0


@dataclass(frozen=True)
class Slice:
    share: int
    kernel_ms: int
    synchronous: bool
    fenced: bool = True


class Bench:
    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds
        self.count = 0
        self.loops_per_ms = self._calibrate()

    def _busy(self, region: Region | None, loops: int, ms: float) -> tuple[list[str], dict[str, str]]:
        env = guest_env(region, self.folder, mode="preload" if region else "none", GUEST_MS=str(int(ms)))
        return [str(BUILD / "tests/guest"), "busy", str(loops)], env

    def _calibrate(self) -> float:
        """Loops that keep all units busy for one millisecond, found without a limit."""
        loops = 5_000
        command, env = self._busy(None, -loops, 1500)
        run(command, env)  # compiles
        with CpuGroup("calibrate") as group:
            launches = int(run(group.wrap(command), env).stdout.split()[0].split("=")[1])
        return loops * launches / 1500

    def _start(self, group: CpuGroup, plan: Slice) -> tuple[subprocess.Popen[bytes], Region]:
        self.count += 1
        region = Region(self.folder / f"region{self.count}", share=plan.share, units=UNITS)
        loops = int(self.loops_per_ms * plan.kernel_ms) * (-1 if plan.synchronous else 1)
        command, env = self._busy(region, loops, (self.seconds + WARM_UP_S + 2.5) * 1000)
        return subprocess.Popen(group.wrap(command), env=env, stdout=subprocess.DEVNULL), region

    @staticmethod
    def _await_launches(regions: list[Region]) -> None:
        """The steady part begins once every guest is past its start-up."""
        deadline = time.monotonic() + 30
        while any(region.usage("launches") < 3 for region in regions) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(WARM_UP_S)

    def measure(self, plans: list[Slice]) -> tuple[list[float], float]:
        """Permille of the device that each slice got, and the machine's other load."""
        groups = [
            CpuGroup(f"{self.count}-{i}", quota_permille=p.share if p.fenced else None, units=UNITS).__enter__()
            for i, p in enumerate(plans)
        ]
        started = [self._start(group, plan) for group, plan in zip(groups, plans, strict=True)]
        guests = [guest for guest, _ in started]
        self._await_launches([region for _, region in started])
        began, before, machine = time.monotonic_ns(), [g.cpu_ns() for g in groups], machine_busy_ns()
        time.sleep(self.seconds)
        wall = (time.monotonic_ns() - began) * UNITS
        used = [g.cpu_ns() - b for g, b in zip(groups, before, strict=True)]
        other = machine_busy_ns() - machine - sum(used)
        for guest in guests:
            if guest.wait(timeout=60) != 0:
                raise SystemExit("a guest failed: its figures would be nobody's")
        for group in groups:
            group.__exit__(None, None, None)
        return [1000 * u / wall for u in used], max(0.0, 1000 * other / wall)


def cases(*, quick: bool) -> list[list[Slice]]:
    kernels = [10] if quick else [1, 10, 50]
    shares = [250, 500] if quick else [100, 250, 500, 750]
    sync = [False] if quick else [False, True]
    alone = [[Slice(s, k, y)] for k in kernels for y in sync for s in shares]
    pair = [[Slice(250, k, y), Slice(500, k, y)] for k in kernels for y in sync]
    unfenced = [[Slice(s, k, y, fenced=False)] for k in kernels for y in sync for s in shares[:: 1 if quick else 2]]
    return alone + pair + unfenced


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few cases, two seconds each")
    parser.add_argument("--seconds", type=float, default=None)
    options = parser.parse_args()
    seconds = options.seconds or (2.0 if options.quick else 4.0)
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as folder:
        bench = Bench(Path(folder), seconds)
        print("| asked % | kernel ms | synchronous | cgroup quota | got % | error | other load % |")
        print("|---|---|---|---|---|---|---|")
        for plans in cases(quick=options.quick):
            got, other = bench.measure(plans)
            for plan, permille in zip(plans, got, strict=True):
                label = f"{plan.share / 10:g}" + (" (25+50 together)" if len(plans) > 1 else "")
                print(
                    f"| {label} | {plan.kernel_ms} | {'yes' if plan.synchronous else 'no'} "
                    f"| {'yes' if plan.fenced else 'no'} | {permille / 10:.1f} "
                    f"| {(permille - plan.share) / 10:+.1f} | {other / 10:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
