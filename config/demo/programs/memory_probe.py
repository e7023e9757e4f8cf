"""Ask for device memory until it is refused, byte for byte, then give it back and work on.

A refusal is OpenCL's own CL_MEM_OBJECT_ALLOCATION_FAILURE; anything else is not what a program expects to handle.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
import pyopencl as cl

from config.demo.programs.opencl import MIB, Device

FIRST_STEP = 256 * MIB


def fill(device: Device) -> tuple[list[Any], int, str]:
    """Take memory in halving steps down to one byte; returns (buffers, bytes taken, name of the refusal)."""
    taken: list[Any] = []
    total, refusal = 0, ""
    ceiling = 2 * int(device.info.global_mem_size) + FIRST_STEP
    step = min(FIRST_STEP, int(device.info.max_mem_alloc_size))
    while step >= 1 and total < ceiling:
        try:
            taken.append(device.empty(step))
            total += step
        except cl.Error as error:
            refusal = str(cl.status_code.to_string(error.code))  # type: ignore[operator]  # its stub is wrong
            if error.code != cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE:
                break
            step //= 2
    return taken, total, refusal


def carries_on(device: Device) -> bool:
    """After the refusal, with the memory given back: a copy through the device is still right."""
    sent = np.arange(MIB // 4, dtype=np.uint32)
    got = np.empty_like(sent)
    device.download(device.upload(sent), got)
    return bool((sent == got).all())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hold", type=float, default=0, help="keep the memory this many seconds before giving it back")
    args = parser.parse_args()
    device = Device.open()
    taken, total, refusal = fill(device)
    if args.hold:
        print("steady", file=sys.stderr, flush=True)
        time.sleep(args.hold)
    for buffer in taken:
        buffer.release()
    alive = carries_on(device)
    report = {"refused_at_mib": total // MIB if refusal else None, "refused_at_bytes": total if refusal else None,
              "refusal": refusal, "device_memory_mib": device.memory_mib, "carries_on": alive}  # fmt: skip
    print(json.dumps(report))
    return 0 if alive and refusal == "MEM_OBJECT_ALLOCATION_FAILURE" else 1


if __name__ == "__main__":
    sys.exit(main())
