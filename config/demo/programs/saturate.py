"""Keep the device busy: kernels of 512 work-groups, one after the other, each some ten milliseconds on a free device.

The work is a 32-bit linear congruential generator, so the last value of every work-item can be checked.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from config.demo.programs.opencl import Device

GROUPS = 512
GROUP_SIZE = 64
MULTIPLIER, INCREMENT = 1664525, 1013904223  # Numerical Recipes, 2nd edition, section 7.1
TARGET_MS = 12.0

SOURCE = """
__kernel void spin(__global uint *state, const uint rounds) {
    uint x = state[get_global_id(0)];
    for (uint i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    state[get_global_id(0)] = x;
}
"""


class Spinner:
    """The kernel with its state on the device and the number of rounds that it has made."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.kernel = device.build(SOURCE).spin
        self.state = device.upload_writable(np.arange(GROUPS * GROUP_SIZE, dtype=np.uint32))
        self.total_rounds = 0
        self.launches = 0

    def launch(self, rounds: int) -> float:
        """One kernel, waited for; returns its wall time in seconds."""
        began = time.monotonic()
        self.kernel(self.device.queue, (GROUPS * GROUP_SIZE,), (GROUP_SIZE,), self.state, np.uint32(rounds))
        self.device.queue.finish()
        self.total_rounds += rounds
        self.launches += 1
        return time.monotonic() - began

    def is_right(self) -> bool:
        """Whether every work-item holds what the generator gives after so many rounds."""
        got = np.empty(GROUPS * GROUP_SIZE, np.uint32)
        self.device.download(self.state, got)
        return bool((got == jump(np.arange(len(got), dtype=np.uint32), self.total_rounds)).all())


def jump(start: NDArray[np.uint32], rounds: int) -> NDArray[np.uint32]:
    """The generator's state after `rounds` steps, in log2(rounds) steps: x -> a x + c is composed with itself."""
    factor, shift, power, step = 1, 0, MULTIPLIER, INCREMENT
    while rounds:
        if rounds & 1:
            factor, shift = factor * power % 2**32, (shift * power + step) % 2**32
        power, step = power * power % 2**32, (power + 1) * step % 2**32
        rounds >>= 1
    return start * np.uint32(factor) + np.uint32(shift)


def rounds_for(spinner: Spinner, target_ms: float) -> int:
    """Rounds for a kernel of about `target_ms` on this device when nothing holds it back: the best of a few."""
    rounds = 500
    best = min(spinner.launch(rounds) for _ in range(8))
    return max(10, int(rounds * target_ms / 1000 / best))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rounds", type=int, default=0, help="rounds of one kernel; 0 finds them")
    args = parser.parse_args()
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    spinner = Spinner(Device.open())
    rounds = args.rounds or rounds_for(spinner, TARGET_MS)
    print("steady", file=sys.stderr, flush=True)
    began, cpu_began = time.monotonic(), time.process_time()
    while not stopped and time.monotonic() - began < args.seconds:
        spinner.launch(rounds)
    wall, cpu = time.monotonic() - began, time.process_time() - cpu_began
    right = spinner.is_right()
    report = {"launches": spinner.launches, "rounds": rounds, "right": right,
              "wall_ms": round(wall * 1000), "cpu_ms": round(cpu * 1000)}  # fmt: skip
    print(json.dumps(report))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
