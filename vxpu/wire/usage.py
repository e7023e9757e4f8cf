"""Usage windows as CloudEvents 1.0 (https://cloudevents.io), posted in batches to USAGE_PATH.

The body is a JSON array of at most `MAX_BATCH` events, optionally ``Content-Encoding: gzip``; the header
``VXPU-Signature`` carries base64 of the node's Ed25519 signature over the raw (as sent) body.
Windows lie on a fixed grid: `window_start` is a multiple of `window_s` since the epoch. The natural key
(lease, window_start) de-duplicates; `seq` only finds gaps. A window at the start or the end of a lease is shorter in
granted time, never in key.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field

from vxpu.states import LeaseState
from vxpu.wire.base import Lenient, Strict

USAGE_TYPE = "vxpu.usage.v1"
SIGNATURE_HEADER = "VXPU-Signature"
MAX_BATCH = 1000


class UsageData(Strict):
    """One lease, one window. Permille-seconds are of the whole device; used is read outside the guest."""

    window_start: AwareDatetime
    window_s: int = Field(ge=1, le=3600)
    token: int = Field(ge=0, description="fencing token under which this was measured")
    granted_permille_s: int = Field(ge=0)
    used_permille_s: int | None = Field(ge=0, description="null: the device cannot tell")
    granted_mib_s: int = Field(ge=0)
    peak_mib: int | None = Field(ge=0)
    energy_mj: int | None = Field(default=None, ge=0)
    throttled_ms: int | None = Field(default=None, ge=0)
    copied_bytes: int | None = Field(default=None, ge=0)
    state: LeaseState
    contended: bool = Field(default=False, description="other load kept the slice from its share")
    seq: int = Field(ge=0)
    prev_hash: str = Field(max_length=64, description="sha256 hex of the previous event of this lease as sent")
    clock_offset_ms: int
    mono_ns: int


class UsageEvent(Strict):
    specversion: Literal["1.0"] = "1.0"
    id: str = Field(max_length=128)
    type: Literal["vxpu.usage.v1"] = "vxpu.usage.v1"
    source: str = Field(description="/agents/{node id}")
    subject: str = Field(description="lease id")
    time: AwareDatetime
    datacontenttype: Literal["application/json"] = "application/json"
    data: UsageData


class UsageStatus(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


class UsageResult(Lenient):
    """Everything but a missing answer lets the agent drop the event: conflicts and rejects are kept by the server."""

    id: str
    status: UsageStatus
    reason: str = ""


class UsageAnswer(Lenient):
    results: list[UsageResult]
