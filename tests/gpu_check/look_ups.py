"""Every look-up that a recorded CUDA runtime makes, as JSON: what the driver answered, and whose function it is."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

from tests.native.fake.driver import Driver

LIST = Path(__file__).resolve().parents[1] / "native/data/lookups-cudart-13.0.txt"
LINE = re.compile(r"^(\S*?) ?ver=(\d+) flags=(\d+)", re.MULTILINE)  # one look-up is of the empty name


class SymbolInfo(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)
    )  # fmt: skip


def look_up(cuda: Driver, name: str, version: int, flags: int) -> dict[str, object]:
    at, status = ctypes.c_void_p(), ctypes.c_int(-1)
    code = cuda.call("cuGetProcAddress_v2", name.encode(), ctypes.byref(at), version, flags, ctypes.byref(status))
    info = SymbolInfo()
    if at.value:
        ctypes.CDLL(None).dladdr(at, ctypes.byref(info))
    return {
        "asked": f"{name}@{version}/{flags}", "code": code, "status": status.value, "found": bool(at.value),
        "name": (info.name or b"").decode(), "ours": b"libvxpu" in (info.file or b""),
    }  # fmt: skip


def main() -> None:
    cuda = Driver().init()
    asked = [(name, int(version), int(flags)) for name, version, flags in LINE.findall(LIST.read_text())]
    print(json.dumps([look_up(cuda, *one) for one in asked]))


if __name__ == "__main__":
    main()
