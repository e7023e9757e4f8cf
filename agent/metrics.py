"""`vxpu_slice_*` in the Prometheus text format, as a file for node_exporter's textfile collector: no port is opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SliceFigures:
    """What is known of one slice now, in base units; None is not written at all."""

    lease_id: str
    device_key: str
    mode: str
    memory_limit_bytes: int
    share_ratio: str
    cpu_seconds: str | None
    card_seconds: str | None
    throttled_seconds: str
    memory_bytes: int | None
    age_seconds: str


_HELP = {
    "vxpu_slice_memory_limit_bytes": ("gauge", "Memory that the slice may take."),
    "vxpu_slice_memory_bytes": ("gauge", "Memory in use: of the control group, or on the card."),
    "vxpu_slice_share_ratio": ("gauge", "Compute share of the device that the slice may take."),
    "vxpu_slice_cpu_seconds_total": ("counter", "Processor time used, from the slice's control group."),
    "vxpu_slice_card_seconds_total": ("counter", "Time of the card used, from the card's driver by process."),
    "vxpu_slice_throttled_seconds_total": ("counter", "Time that the kernel held the slice back at its share."),
    "vxpu_slice_sample_age_seconds": ("gauge", "Age of the figures of this slice."),
}


def exposition(slices: Iterable[SliceFigures]) -> str:
    """Text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats)."""
    figures = list(slices)
    lines: list[str] = []
    for name, (kind, text) in _HELP.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for one in figures:
            value = _value(one, name)
            if value is not None:
                labels = f'lease="{one.lease_id}",device="{one.device_key}",mode="{one.mode}"'
                lines.append(f"{name}{{{labels}}} {value}")
    return "\n".join(lines) + "\n"


def ratio(permille: int) -> str:
    """250 -> "0.250": integers to text without a float in between."""
    return f"{permille // 1000}.{permille % 1000:03d}"


def seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 1_000_000_000}.{nanoseconds % 1_000_000_000 // 1_000_000:03d}"


def _value(one: SliceFigures, name: str) -> int | str | None:
    return {
        "vxpu_slice_memory_limit_bytes": one.memory_limit_bytes,
        "vxpu_slice_memory_bytes": one.memory_bytes,
        "vxpu_slice_share_ratio": one.share_ratio,
        "vxpu_slice_cpu_seconds_total": one.cpu_seconds,
        "vxpu_slice_card_seconds_total": one.card_seconds,
        "vxpu_slice_throttled_seconds_total": one.throttled_seconds,
        "vxpu_slice_sample_age_seconds": one.age_seconds,
    }[name]
