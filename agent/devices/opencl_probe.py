"""Asks one OpenCL driver what it shows: ``python -m agent.devices.opencl_probe LIBRARY`` prints JSON.

Runs in a process of its own with an empty environment: a driver may crash, print, start threads, or change its figures
by POCL_* variables. It is loaded without a loader, by the ABI that loaders use, so no other driver comes along.
Source: cl_khr_icd (clIcdGetPlatformIDsKHR; the first word of each object points to the dispatch table, whose first four
entries are clGetPlatformIDs, clGetPlatformInfo, clGetDeviceIDs, clGetDeviceInfo).
"""

from __future__ import annotations

import ctypes
import json
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, cast
from typing import Any

DEVICE_TYPE_ALL = 0xFFFFFFFF
DEVICE_TYPE = 0x1000
MAX_COMPUTE_UNITS = 0x1002
GLOBAL_MEM_SIZE = 0x101F
NAME = 0x102B
VENDOR = 0x102C
DRIVER_VERSION = 0x102D

_TYPES = {2: "cpu", 4: "gpu", 8: "accelerator"}
_Get = ctypes.CFUNCTYPE(c_int32, c_uint32, c_void_p, c_void_p)
_GetDevices = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint64, c_uint32, c_void_p, c_void_p)
_GetInfo = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)


def probe(library: str) -> list[dict[str, Any]]:
    """Every device of every platform of one driver. Raises OSError when it cannot be loaded or has no platform."""
    loaded = ctypes.CDLL(library)
    loaded.clGetExtensionFunctionAddress.restype = c_void_p
    address = loaded.clGetExtensionFunctionAddress(c_char_p(b"clIcdGetPlatformIDsKHR"))
    if not address:
        raise OSError(f"{library} is no OpenCL driver")
    platforms = _list(_Get(address))
    return [_describe(device) for platform in platforms for device in _devices(platform)]


def _devices(platform: int) -> list[int]:
    get_devices = _GetDevices(_dispatch(platform)[2])
    return _list(lambda count, into, found: get_devices(platform, DEVICE_TYPE_ALL, count, into, found))


def _list(call: Any) -> list[int]:
    count = c_uint32()
    if call(0, None, byref(count)) != 0 or count.value == 0:
        return []
    handles = (c_void_p * count.value)()
    if call(count.value, handles, None) != 0:
        return []
    return [handle for handle in handles if handle]


def _dispatch(handle: int) -> Any:
    table = cast(handle, POINTER(c_void_p))[0]
    return cast(table, POINTER(c_void_p))


def _describe(device: int) -> dict[str, Any]:
    get_info = _GetInfo(_dispatch(device)[3])

    def number(what: int, kind: type[c_uint32 | c_uint64]) -> int:
        value = kind()
        return int(value.value) if get_info(device, what, ctypes.sizeof(value), byref(value), None) == 0 else 0

    def text(what: int) -> str:
        buffer = ctypes.create_string_buffer(1024)
        return buffer.value.decode(errors="replace") if get_info(device, what, 1024, buffer, None) == 0 else ""

    kinds = number(DEVICE_TYPE, c_uint64)
    return {
        "type": next((name for bit, name in _TYPES.items() if kinds & bit), "other"),
        "name": text(NAME).strip(),
        "vendor": text(VENDOR).strip(),
        "driver": text(DRIVER_VERSION).strip(),
        "compute_units": number(MAX_COMPUTE_UNITS, c_uint32),
        "memory_bytes": number(GLOBAL_MEM_SIZE, c_uint64),
    }


if __name__ == "__main__":
    json.dump(probe(sys.argv[1]), sys.stdout)
