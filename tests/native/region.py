"""Regions for tests and benchmarks: the agent's side of native/include/vxpu/abi.h, offsets read from that header."""

import os
import re
import struct
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[2] / "native"
HEADER = (NATIVE / "include/vxpu/abi.h").read_text()
OFFSETS = {
    (struct_name, field): int(offset)
    for struct_name, field, offset in re.findall(r"offsetof\(struct (\w+), (\w+)\) == (\d+)", HEADER)
}
SIZES = {name: int(size) for name, size in re.findall(r"sizeof\(struct (\w+)\) == (\d+)", HEADER)}
MAGICS = {name: int(value, 16) for name, value in re.findall(r"#define (VX_\w+_MAGIC) (0x\w+?)ULL", HEADER)}
SLOTS = 256
MIB = 1 << 20


class Region:
    """One slice's folder; every field is a 64-bit word at an offset of the header."""

    def __init__(self, path: Path, *, limit: int = 64 * MIB, share: int = 1000, flags: int = 0, units: int = 2) -> None:
        self.path = path
        path.mkdir(mode=0o755)
        for name, size, mode in (
            ("limits", SIZES["vx_limits"], 0o644),
            ("usage", SIZES["vx_usage"], 0o600),
            ("lock", SLOTS + 1, 0o600),
        ):
            (path / name).write_bytes(bytes(size))
            (path / name).chmod(mode)
        self._write_headers(flags)
        self.set(limit_bytes=limit, soft_bytes=limit, share_permille=share, gain_ppm=1_000_000, compute_units=units)
        self.put("limits", OFFSETS["vx_limits", "magic"], MAGICS["VX_LIMITS_MAGIC"])

    def _write_headers(self, flags: int) -> None:
        words = {"version": 2, "file_bytes": SIZES["vx_limits"], "device_count": 1, "flags": flags, "slot_count": SLOTS}
        for field, value in words.items():
            self.put("limits", OFFSETS["vx_limits", field], value)
        words = {"version": 2, "file_bytes": SIZES["vx_usage"], "slot_count": SLOTS, "magic": MAGICS["VX_USAGE_MAGIC"]}
        for field, value in words.items():
            self.put("usage", OFFSETS["vx_usage", field], value)

    def put(self, name: str, offset: int, value: int) -> None:
        """Write one word in place; guests keep the file mapped."""
        fd = os.open(self.path / name, os.O_WRONLY)
        try:
            os.pwrite(fd, struct.pack("<q" if value < 0 else "<Q", value), offset)
        finally:
            os.close(fd)

    def get(self, name: str, offset: int, *, signed: bool = False) -> int:
        data = (self.path / name).read_bytes()[offset : offset + 8]
        return int.from_bytes(data, "little", signed=signed)

    def devices(self, count: int) -> None:
        """Give every device the limits of device 0."""
        base, size = OFFSETS["vx_limits", "device"], SIZES["vx_limits_device"]
        first = (self.path / "limits").read_bytes()[base : base + size]
        with (self.path / "limits").open("r+b") as limits:
            limits.seek(base)
            limits.write(first * count)
        self.put("limits", OFFSETS["vx_limits", "device_count"], count)

    def set(self, device: int = 0, **fields: int) -> None:
        """Change a device's limits, then bump its gen as the agent does; all is guaranteed unless soft_bytes says."""
        if "limit_bytes" in fields:
            fields.setdefault("soft_bytes", fields["limit_bytes"])
        base = OFFSETS["vx_limits", "device"] + device * SIZES["vx_limits_device"]
        gen = base + OFFSETS["vx_limits_device", "gen"]
        for field, value in fields.items():
            self.put("limits", base + OFFSETS["vx_limits_device", field], value)
        self.put("limits", gen, self.get("limits", gen) + 1)

    def flag(self, flags: int) -> None:
        self.put("limits", OFFSETS["vx_limits", "flags"], flags)

    def usage(self, field: str, device: int = 0) -> int:
        offset = OFFSETS["vx_usage", "device"] + device * SIZES["vx_usage_device"] + OFFSETS["vx_usage_device", field]
        return self.get("usage", offset, signed=field.endswith("_ns"))

    def slot_offset(self, index: int, field: str) -> int:
        return OFFSETS["vx_usage", "slot"] + index * SIZES["vx_slot"] + OFFSETS["vx_slot", field]

    def slot_device_offset(self, index: int, field: str, device: int = 0) -> int:
        return self.slot_offset(index, "device") + device * SIZES["vx_slot_device"] + OFFSETS["vx_slot_device", field]

    def used(self, field: str = "used_bytes", device: int = 0) -> int:
        return sum(self.get("usage", self.slot_device_offset(i, field, device)) for i in range(SLOTS))

    def unknown_frees(self) -> int:
        return self.get("usage", OFFSETS["vx_usage", "unknown_frees"])

    def live_slots(self) -> list[int]:
        return [i for i in range(SLOTS) if self.get("usage", self.slot_offset(i, "state")) != 0]
