"""Usage that the server has not acknowledged, and each meter's state beside it: append-only segments, fsynced.

A record is ``length, crc32, payload`` (two little-endian u32, then JSON). A window and the meter's state after it are
one record, so a kill -9 at any byte leaves either both or neither: the next sample then covers the same time again,
and no window is lost or made twice. A torn tail is cut when the spool is opened. Each new segment begins with a
snapshot of all meters, so an old one can go as soon as its events are acknowledged.

On a full disk nothing that was written is dropped: records wait in memory, in order and bounded, and are sent from
there all the same; `troubles` says so.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADER = struct.Struct("<II")
SEGMENT_BYTES = 1 << 20
LARGEST_RECORD = 1 << 24
WAITING_LIMIT = 256


@dataclass(slots=True)
class _Segment:
    number: int
    path: Path
    size: int = 0
    pending: dict[str, str] = field(default_factory=dict)


def _nowhere(_: str) -> None:
    """The crash point that does not crash: tests give another."""


class Spool:
    """One folder, one writer. `meters` maps a lease to the JSON of its meter as last recorded."""

    def __init__(
        self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, crash_point: Callable[[str], None] = _nowhere
    ) -> None:
        self.folder = folder
        self.segment_bytes = segment_bytes
        self.crash_point = crash_point
        self.meters: dict[str, dict[str, Any]] = {}
        self.troubles: deque[str] = deque(maxlen=32)
        self.dropped = 0
        self._waiting: deque[tuple[bytes, dict[str, Any]]] = deque()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._segments: list[_Segment] = []
        for path in sorted(folder.glob("*.seg")):
            self._segments.append(self._load(path))
        if not self._segments:
            self._segments.append(self._new_segment(1))
        last = self._segments[-1]
        self._file = os.open(last.path, os.O_RDWR | os.O_CLOEXEC)
        os.ftruncate(self._file, last.size)  # a torn tail

    @property
    def pending_count(self) -> int:
        waiting = sum(len(record.get("events", {})) for _, record in self._waiting)
        return waiting + sum(len(segment.pending) for segment in self._segments)

    @property
    def is_full(self) -> bool:
        return bool(self._waiting)

    def record_windows(self, lease_id: str, meter: dict[str, Any], events: dict[str, str]) -> None:
        """Keep closed windows (event id -> text as sent) and the meter's state after them, together."""
        self._append({"lease": lease_id, "meter": meter, "events": events})

    def record_meter(self, lease_id: str, meter: dict[str, Any]) -> None:
        """Keep a meter's state alone: at its start, and whenever its terms change."""
        self._append({"lease": lease_id, "meter": meter})

    def record_last(self, lease_id: str, events: dict[str, str]) -> None:
        """The lease's meter ended with these windows; its events stay until they are acknowledged."""
        self._append({"forget": lease_id, "events": events})

    def batch(self, limit: int) -> list[tuple[str, str]]:
        """The oldest unsent events, at most `limit`: (id, text)."""
        found: list[tuple[str, str]] = []
        for identity, text in self._all_pending():
            if len(found) >= limit:
                break
            found.append((identity, text))
        return found

    def acknowledge(self, identities: Iterable[str]) -> None:
        """The server has these: drop them, and every old segment that holds nothing else."""
        done = set(identities)
        for _, record in self._waiting:
            for identity in done & record.get("events", {}).keys():
                del record["events"][identity]
        known = [name for name in sorted(done) if any(name in segment.pending for segment in self._segments)]
        self._apply_events(self._segments[-1], {"ack": known})
        if known and not self._waiting:
            self._append({"ack": known})
            self.crash_point("spool.acknowledged")
        self._drop_old()

    def close(self) -> None:
        os.close(self._file)

    def _all_pending(self) -> Iterator[tuple[str, str]]:
        for segment in self._segments:
            yield from segment.pending.items()
        for _, record in self._waiting:
            yield from record.get("events", {}).items()

    def _append(self, record: dict[str, Any]) -> None:
        self._waiting.append((self._frame(record), record))
        self._apply_meters(record)
        try:
            if self._segments[-1].size >= self.segment_bytes:
                self._rotate()
            while self._waiting:
                framed, oldest = self._waiting[0]
                self._write(framed)
                self._apply_events(self._segments[-1], oldest)
                self._waiting.popleft()
        except OSError as error:
            self._say(f"spool_write_failed: {error.strerror}; {len(self._waiting)} records wait in memory")
            self._bound_waiting()

    def _write(self, framed: bytes) -> None:
        """All of the record on disk, or none of it and OSError."""
        segment = self._segments[-1]
        self.crash_point("spool.before_write")
        try:
            written = 0
            while written < len(framed):
                written += os.pwrite(self._file, framed[written:], segment.size + written)
            self.crash_point("spool.before_fsync")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, segment.size)
            raise
        segment.size += len(framed)
        self.crash_point("spool.after_fsync")

    def _rotate(self) -> None:
        fresh = self._new_segment(self._segments[-1].number + 1)
        old = self._file
        self._file = os.open(fresh.path, os.O_RDWR | os.O_CLOEXEC)
        os.close(old)
        self._segments.append(fresh)
        self.crash_point("spool.before_snapshot")
        self._write(self._frame({"meters": self.meters}))
        self._drop_old()

    def _new_segment(self, number: int) -> _Segment:
        path = self.folder / f"{number:08d}.seg"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
        return _Segment(number, path)

    def _drop_old(self) -> None:
        newest = self._segments[-1]
        if newest.size == 0:  # its snapshot is not there yet: the old ones are all we have
            return
        kept = [segment for segment in self._segments[:-1] if segment.pending]
        for segment in self._segments[:-1]:
            if not segment.pending:
                segment.path.unlink(missing_ok=True)
        self._segments = [*kept, newest]

    def _load(self, path: Path) -> _Segment:
        segment = _Segment(int(path.stem), path)
        raw = path.read_bytes()
        for record, end in _records(raw):
            self._apply_meters(record)
            self._apply_events(segment, record)
            segment.size = end
        if segment.size < len(raw):
            self._say(f"spool_torn: {len(raw) - segment.size} bytes at the end of {path.name} were not a whole record")
        return segment

    def _apply_meters(self, record: dict[str, Any]) -> None:
        if "meters" in record:
            self.meters = dict(record["meters"])
        elif "meter" in record:
            self.meters[record["lease"]] = record["meter"]
        elif "forget" in record:
            self.meters.pop(record["forget"], None)

    def _apply_events(self, segment: _Segment, record: dict[str, Any]) -> None:
        segment.pending.update(record.get("events", {}))
        for identity in record.get("ack", ()):
            for holder in (*self._segments, segment):
                holder.pending.pop(identity, None)

    def _bound_waiting(self) -> None:
        while len(self._waiting) > WAITING_LIMIT:
            _, lost = self._waiting.popleft()
            self.dropped += len(lost.get("events", {}))
            self._say(f"spool_overflow: {self.dropped} windows lost; the disk is full and the server away")

    def _say(self, trouble: str) -> None:
        if trouble not in self.troubles:
            self.troubles.append(trouble)

    @staticmethod
    def _frame(record: dict[str, Any]) -> bytes:
        payload = json.dumps(record, separators=(",", ":")).encode()
        return HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def _records(raw: bytes) -> Iterator[tuple[dict[str, Any], int]]:
    """Each whole record and where it ends; stops at the first that is torn or damaged."""
    start = 0
    while start + HEADER.size <= len(raw):
        length, checksum = HEADER.unpack_from(raw, start)
        end = start + HEADER.size + length
        payload = raw[start + HEADER.size : end]
        if length > LARGEST_RECORD or len(payload) != length or zlib.crc32(payload) != checksum:
            return
        yield json.loads(payload), end
        start = end
