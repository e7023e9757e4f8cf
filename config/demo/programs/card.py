"""A CUDA program on the driver's API alone: takes memory until it is refused, then keeps the card busy for a while.

Prints one JSON object: what the card says of itself and of its memory, at what it refused, and how much of the time
its own kernels (5 ms each, one after the other) could be had. Needs no toolkit and no package.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from typing import Any

MIB = 1024 * 1024
OUT_OF_MEMORY = 2
KERNEL_NS = 5_000_000
STEP = 64 * MIB
# n steps of arithmetic; a simulated card takes n for nanoseconds.
PTX = b""".version 7.0
.target sm_52
.address_size 64
.visible .entry vx_spin(.param .u64 n)
{
  .reg .pred %p; .reg .b64 %i; .reg .b64 %n;
  ld.param.u64 %n, [n];
  mov.u64 %i, 0;
AGAIN:
  setp.ge.u64 %p, %i, %n;
  @%p bra DONE;
  add.u64 %i, %i, 1;
  bra AGAIN;
DONE:
  ret;
}
"""


class Card:
    """The first card that this place shows, with a context. Raises SystemExit with the driver's code."""

    def __init__(self) -> None:
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise SystemExit(f"no CUDA driver here: {error}") from error
        self.device, context = c_int(), c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise SystemExit(f"{name}: driver error {code}")

    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def memory_mib(self) -> tuple[int, int]:
        """(free, total) as the driver tells them."""
        free, total = c_size_t(), c_size_t()
        self.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value // MIB, total.value // MIB

    def fill(self) -> tuple[list[c_void_p], int]:
        """Take memory in steps until the driver says no: (what was taken, the driver's code)."""
        taken: list[c_void_p] = []
        code = 0
        while not code and len(taken) < 4096:
            pointer = c_void_p()
            code = self.driver.cuMemAlloc_v2(byref(pointer), c_size_t(STEP))
            if not code:
                taken.append(pointer)
        return taken, code

    def free(self, taken: list[c_void_p]) -> None:
        for pointer in taken:
            self.call("cuMemFree_v2", pointer)

    def spin(self, seconds: float) -> tuple[int, float]:
        """Kernels for so long: (how many ended, seconds that it took)."""
        module, function, length = c_void_p(), c_void_p(), c_uint64(KERNEL_NS)
        self.call("cuModuleLoadData", byref(module), PTX)
        self.call("cuModuleGetFunction", byref(function), module, b"vx_spin")
        parameters = (c_void_p * 1)(ctypes.cast(byref(length), c_void_p))
        launches, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
            self.call("cuCtxSynchronize")
            launches += 1
        return launches, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    chosen = parser.parse_args()
    card = Card()
    free, total = card.memory_mib()
    sys.stderr.write("steady\n")
    taken, code = card.fill()
    launches, took = card.spin(chosen.seconds)  # with all of its memory: whoever looks from outside sees the peak
    card.free(taken)
    report = {
        "name": card.name(), "total_mib": total, "free_mib": free, "refusal": code,
        "refused_at_mib": len(taken) * STEP // MIB, "launches": launches,
        "got_permille": round(launches * KERNEL_NS / took / 1e6),
    }  # fmt: skip
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
