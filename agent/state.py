"""What the agent must remember over a kill -9: its slices, the tokens it saw, what ended. One file, replaced whole."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from agent.enforce.port import Holder, SliceCard, SliceSpec
from vxpu.states import Isolation, LeaseState

ENDED_KEPT = 1000


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """One slice. `version` is the desired version that was applied (0: none yet); times are server nanoseconds.

    `slots`: its place on a card that is cut, first and end.
    """

    lease_id: str
    token: int
    version: int
    state: LeaseState
    device_key: str
    uid: int
    memory_mib: int
    share_permille: int
    compute_units: int
    icd: str
    devices: tuple[str, ...]
    ends_at_ns: int | None
    holder_pid: int = 0
    holder_ticks: int = 0
    gate_closed: bool = False
    draining_ns: int | None = None
    end_reason: str = ""
    limits_short: bool = False
    cpu_permille: int | None = None
    card: SliceCard | None = None
    slots: tuple[int, int] | None = None

    @property
    def spec(self) -> SliceSpec:
        return SliceSpec(
            lease_id=self.lease_id, token=self.token, uid=self.uid, memory_mib=self.memory_mib,
            share_permille=self.share_permille, compute_units=self.compute_units, icd=self.icd, devices=self.devices,
            cpu_permille=self.cpu_permille, card=self.card,
        )  # fmt: skip

    def isolation(self, of_machine: Isolation) -> Isolation:
        """What is enforced for it: a card's mode says, for other devices the machine's."""
        return of_machine if self.card is None else self.card.isolation

    @property
    def holder(self) -> Holder | None:
        return Holder(self.holder_pid, self.holder_ticks) if self.state != LeaseState.PREPARING else None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        card = SliceCard.from_json(data["card"]) if data.get("card") else None
        devices = tuple(data["devices"])
        slots = tuple(data["slots"]) if data.get("slots") else None
        return cls(**{**data, "state": LeaseState(data["state"]), "devices": devices, "card": card, "slots": slots})


@dataclass(slots=True)
class State:
    """Changed in memory, then saved before the world is changed: a restart finds every slice that may exist."""

    path: Path
    slices: dict[str, SliceRecord] = field(default_factory=dict)
    tokens_seen: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    unreported: dict[str, tuple[int, str]] = field(default_factory=dict)
    windows_closed: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The saved state, or an empty one. Raises ValueError for a file that is not ours."""
        if not path.exists():
            return cls(path)
        data = json.loads(path.read_text())
        return cls(
            path,
            slices={key: SliceRecord.from_json(value) for key, value in data["slices"].items()},
            tokens_seen=data["tokens_seen"],
            ended=data["ended"],
            windows_closed=data["windows_closed"],
            unreported={key: (int(token), str(reason)) for key, (token, reason) in data["unreported"].items()},
        )

    def put(self, record: SliceRecord) -> None:
        self.slices[record.lease_id] = record
        self.tokens_seen[record.lease_id] = max(record.token, self.tokens_seen.get(record.lease_id, 0))
        self.save()

    def change(self, lease_id: str, **changes: Any) -> SliceRecord:
        changed = replace(self.slices[lease_id], **changes)
        self.put(changed)
        return changed

    def end(self, lease_id: str, *, windows_closed: int) -> None:
        """The slice is gone; `windows_closed` is how many usage windows it had in all."""
        record = self.slices.pop(lease_id)
        self.windows_closed[lease_id] = windows_closed
        self.ended[lease_id] = record.token
        self.unreported[lease_id] = (record.token, record.end_reason)
        while len(self.ended) > ENDED_KEPT:
            oldest = next(iter(self.ended))
            del self.ended[oldest]
            self.tokens_seen.pop(oldest, None)
            self.windows_closed.pop(oldest, None)
        self.save()

    def acknowledge_end(self, lease_id: str, token: int) -> None:
        """The server knows that it is gone under this token."""
        if lease_id in self.unreported and self.unreported[lease_id][0] == token:
            del self.unreported[lease_id]
            self.save()

    def save(self) -> None:
        write_whole(self.path, json.dumps({
            "slices": {key: asdict(record) for key, record in self.slices.items()},
            "tokens_seen": self.tokens_seen,
            "ended": self.ended,
            "unreported": self.unreported,
            "windows_closed": self.windows_closed,
        }))  # fmt: skip


def write_whole(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace a file by a complete new one that is on the disk, or leave the old one. Raises OSError."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w") as opened:
        os.fchmod(opened.fileno(), mode)
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)
