"""A slice: how much of one device. A period: when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from vxpu.units import WHOLE_PERMILLE, format_memory, format_share

MemoryMib = Annotated[int, Field(ge=1, le=2**40, strict=True)]
SharePermille = Annotated[int, Field(ge=1, le=WHOLE_PERMILLE, strict=True)]


class Frozen(BaseModel):
    """Base of every value that crosses a room: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Slice(Frozen):
    """A memory quota (MiB) and a share of compute (permille) of one device."""

    memory_mib: MemoryMib
    share_permille: SharePermille

    def __str__(self) -> str:
        return f"{format_memory(self.memory_mib)} + {format_share(self.share_permille)}"

    def fits_in(self, memory_mib: int, share_permille: int) -> bool:
        return self.memory_mib <= memory_mib and self.share_permille <= share_permille


class Period(Frozen):
    """Half-open [starts_at, ends_at); ends_at None is open-ended."""

    starts_at: AwareDatetime
    ends_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.ends_at is not None and self.ends_at <= self.starts_at:
            raise ValueError("ends_at must be after starts_at")
        return self

    def overlaps(self, other: Period) -> bool:
        return (other.ends_at is None or self.starts_at < other.ends_at) and (
            self.ends_at is None or other.starts_at < self.ends_at
        )

    def contains(self, instant: datetime) -> bool:
        return self.starts_at <= instant and (self.ends_at is None or instant < self.ends_at)


def dominant_permille(piece: Slice, *, device_memory_mib: int) -> int:
    """max(compute share, memory share rounded up) in permille of the device: the charge-back base.

    Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011.
    """
    memory_permille = -(-piece.memory_mib * WHOLE_PERMILLE // device_memory_mib)
    return max(piece.share_permille, memory_permille)
