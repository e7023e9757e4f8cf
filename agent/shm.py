"""The shared region of a slice, as native/include/vxpu/abi.h lays it out (an architecture test compares offsets).

Every field is one 64-bit native-endian word. Times are nanoseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_uint64

ABI_VERSION = 2
LIMITS_MAGIC = 0x314D494C55505856
USAGE_MAGIC = 0x3147535555505856
MAX_DEVICES = 8
MAX_SLOTS = 256
LOCK_FILE_BYTES = 257
REGION_ROOT = "/run/vxpu/uid"
DEV_REGION_PREFIX = "/dev/shm/vxpu-dev-"  # noqa: S108 - the fixed path that the library looks at

FLAG_INERT = 1
FLAG_CLOSED = 2
FLAG_STRICT_SYMBOLS = 4

DEVICE_CPU = 0
DEVICE_CARD = 1

SLOT_FREE = 0
SLOT_CLAIMED = 1
SLOT_LIVE = 2


class LimitsDevice(ctypes.Structure):
    _fields_ = (
        ("limit_bytes", c_uint64),
        ("soft_bytes", c_uint64),
        ("overhead_bytes", c_uint64),
        ("share_permille", c_uint64),
        ("weight", c_uint64),
        ("priority", c_uint64),
        ("gain_ppm", c_uint64),
        ("pause", c_uint64),
        ("compute_units", c_uint64),
        ("gen", c_uint64),
        ("agent_debit_ns", c_int64),
        ("ordinal", c_uint64),
        ("max_alloc_bytes", c_uint64),
        ("kind", c_uint64),
        ("uuid_high", c_uint64),
        ("uuid_low", c_uint64),
        ("lend_permille", c_uint64),
        ("lend_until_ns", c_uint64),
        ("ctx_bytes", c_uint64),
        ("host_limit_bytes", c_uint64),
        ("copy_bytes_per_second", c_uint64),
        ("physical_bytes", c_uint64),
        ("hold_from_ns", c_uint64),
        ("hold_until_ns", c_uint64),
        ("reserved", c_uint64 * 8),
    )


class Limits(ctypes.Structure):
    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint64),
        ("file_bytes", c_uint64),
        ("generation", c_uint64),
        ("device_count", c_uint64),
        ("flags", c_uint64),
        ("slot_count", c_uint64),
        ("fencing_token", c_uint64),
        ("reserved", c_uint64 * 8),
        ("device", LimitsDevice * MAX_DEVICES),
    )


class UsageDevice(ctypes.Structure):
    _fields_ = (
        ("peak_bytes", c_uint64),
        ("denied_count", c_uint64),
        ("budget_ns", c_int64),
        ("last_refill_ns", c_uint64),
        ("debited_ns", c_int64),
        ("agent_debit_seen_ns", c_int64),
        ("launches", c_uint64),
        ("waits", c_uint64),
        ("waited_ns", c_uint64),
        ("measured_ns", c_uint64),
        ("copy_budget_bytes", c_int64),
        ("copy_last_refill_ns", c_uint64),
        ("copied_bytes", c_uint64),
        ("longest_wait_ns", c_uint64),
        ("reserved", c_uint64 * 18),
    )


class SlotDevice(ctypes.Structure):
    _fields_ = (
        ("used_bytes", c_uint64),
        ("ctx_bytes", c_uint64),
        ("host_bytes", c_uint64),
        ("spill_bytes", c_uint64),
    )


class Slot(ctypes.Structure):
    _fields_ = (
        ("state", c_uint64),
        ("start_ticks", c_uint64),
        ("ns_pid", c_uint64),
        ("pid_ns", c_uint64),
        ("suspect_ns", c_uint64),
        ("epoch", c_uint64),
        ("launches", c_uint64),
        ("device_ns", c_uint64),
        ("device", SlotDevice * MAX_DEVICES),
    )


class Usage(ctypes.Structure):
    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint64),
        ("file_bytes", c_uint64),
        ("slot_count", c_uint64),
        ("unknown_frees", c_uint64),
        ("slots_used", c_uint64),
        ("unknown_symbols", c_uint64),
        ("reserved", c_uint64 * 9),
        ("device", UsageDevice * MAX_DEVICES),
        ("slot", Slot * MAX_SLOTS),
    )


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "vx_limits_device": LimitsDevice,
    "vx_limits": Limits,
    "vx_usage_device": UsageDevice,
    "vx_slot_device": SlotDevice,
    "vx_slot": Slot,
    "vx_usage": Usage,
}
