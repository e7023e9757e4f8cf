"""The C header and agent/shm.py agree on every offset and size of the shared memory."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from agent import shm

HEADER = (Path(__file__).parents[2] / "native/include/vxpu/abi.h").read_text()
OFFSET = re.compile(r"_Static_assert\(\s*offsetof\(\s*(?:struct\s+)?(\w+),\s*(\w+)\s*\)\s*==\s*(\d+)")
SIZE = re.compile(r"_Static_assert\(\s*sizeof\(\s*(?:struct\s+)?(\w+)\s*\)\s*==\s*(\d+)")


def mirrored(name: str) -> type[ctypes.Structure]:
    found: type[ctypes.Structure] = shm.STRUCTURES[name]
    return found


def test_every_asserted_offset_is_mirrored() -> None:
    asserted = OFFSET.findall(HEADER)
    assert len(asserted) > 20
    wrong = [
        (struct, field, int(offset))
        for struct, field, offset in asserted
        if getattr(mirrored(struct), field).offset != int(offset)
    ]
    assert wrong == []


def test_every_asserted_size_is_mirrored() -> None:
    asserted = SIZE.findall(HEADER)
    assert asserted
    assert [(name, size) for name, size in asserted if ctypes.sizeof(mirrored(name)) != int(size)] == []
