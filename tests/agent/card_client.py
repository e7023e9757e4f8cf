"""A program of a guest on a simulated card: takes memory, keeps the card busy if told, and waits for its input to end.

``python card_client.py MIB [NS]``: the driver API by ctypes, as any program would use it.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_int, c_uint64, c_void_p
from typing import Any

PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry vx_spin(.param .u64 ns) { ret; }\n"


def call(name: str, *arguments: Any) -> None:
    code = getattr(driver, name)(*arguments)
    if code != 0:
        sys.exit(f"{name}: {code}")


def keep_busy(nanoseconds: int) -> None:
    module, function = c_void_p(), c_void_p()
    call("cuModuleLoadData", byref(module), PTX)
    call("cuModuleGetFunction", byref(function), module, b"vx_spin")
    length = c_uint64(nanoseconds)
    parameters = (c_void_p * 1)(ctypes.cast(byref(length), c_void_p))
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)


driver = ctypes.CDLL("libcuda.so.1")
call("cuInit", 0)
device, context, pointer = c_int(), c_void_p(), c_uint64()
call("cuDeviceGet", byref(device), 0)
call("cuDevicePrimaryCtxRetain", byref(context), device)
call("cuCtxSetCurrent", context)
call("cuMemAlloc_v2", byref(pointer), ctypes.c_size_t(int(sys.argv[1]) << 20))
if len(sys.argv) > 2:
    keep_busy(int(sys.argv[2]))
print("ready", flush=True)
sys.stdin.read()
