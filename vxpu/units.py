"""Units. Memory is integer MiB, compute is integer permille of one device, time is whole seconds; no floats."""

from __future__ import annotations

import re

MIB = 1024 * 1024
WHOLE_PERMILLE = 1000

_MEMORY = re.compile(r"^\s*(\d+)\s*(MiB|GiB|TiB|Mi|Gi|Ti)?\s*$")
_MEMORY_FACTOR = {None: 1, "MiB": 1, "Mi": 1, "GiB": 1024, "Gi": 1024, "TiB": 1024**2, "Ti": 1024**2}
_SHARE = re.compile(r"^\s*(\d{1,4})(?:\.(\d))?\s*(%)?\s*$")


def parse_memory_mib(text: str) -> int:
    """``"24GiB"`` -> 24576. A bare number is MiB. Raises ValueError."""
    match = _MEMORY.match(text)
    if not match:
        raise ValueError(f"not a memory size: {text!r} (write 512MiB or 24GiB)")
    return int(match[1]) * _MEMORY_FACTOR[match[2]]


def parse_share_permille(text: str) -> int:
    """``"15%"`` or ``"12.5%"`` or ``"150"`` (permille) -> integer permille in 1..1000. Raises ValueError."""
    match = _SHARE.match(text)
    if not match or (match[2] and not match[3]):
        raise ValueError(f"not a compute share: {text!r} (write 15%, 12.5% or 150)")
    permille = int(match[1]) * 10 + int(match[2] or 0) if match[3] else int(match[1])
    if not 1 <= permille <= WHOLE_PERMILLE:
        raise ValueError(f"compute share {text!r} is not within 0.1%..100%")
    return permille


def format_memory(mib: int) -> str:
    """24576 -> ``"24 GiB"``; 1536 -> ``"1536 MiB"``."""
    return f"{mib // 1024} GiB" if mib and mib % 1024 == 0 else f"{mib} MiB"


def format_share(permille: int) -> str:
    """150 -> ``"15 %"``; 125 -> ``"12.5 %"``."""
    whole, tenth = divmod(permille, 10)
    return f"{whole}.{tenth} %" if tenth else f"{whole} %"
