"""What a mode did to a card, written down before it does it: after a crash it knows what is its own to undo."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.devices.nvidia import KEY, CardEvent, CardGone, Refused
from agent.enforce.modes.port import CannotShare
from agent.state import write_whole


@dataclass(frozen=True, slots=True)
class Note:
    """Of one lease on one card. `is_over`: the lease ended while the card was gone, so this is still to be undone."""

    lease_id: str
    key: str
    values: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False

    @property
    def uuid(self) -> str:
        return self.key.removeprefix(KEY)


class Notes:
    """One file of the state folder. A file that cannot be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            found = [Note(**one) for one in json.loads(path.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            found = []
        self._notes = {(note.lease_id, note.key): note for note in found}

    def all(self) -> list[Note]:
        return list(self._notes.values())

    def get(self, lease_id: str, key: str) -> Note | None:
        return self._notes.get((lease_id, key))

    def put(self, lease_id: str, key: str, **values: Any) -> None:
        """Replaces what was noted; the lease is not over."""
        self._notes[lease_id, key] = Note(lease_id, key, values)
        self._save()

    def drop(self, lease_id: str, key: str) -> None:
        if self._notes.pop((lease_id, key), None) is not None:
            self._save()

    def end(self, lease_id: str, key: str, undo: Callable[[Note], None]) -> None:
        """Undo and forget. A card that is gone does not hold the lease's end up: `settle` does it when it is back."""
        note = self.get(lease_id, key)
        if note is None:
            return
        try:
            undo(note)
        except CardGone:
            self._notes[lease_id, key] = replace(note, is_over=True)
            self._save()
            return
        except Refused as error:
            raise CannotShare(str(error)) from error
        self.drop(lease_id, key)

    def settle(self, which: Callable[[Note], bool], undo: Callable[[Note], None], *, what: str) -> list[CardEvent]:
        """Undo and forget those; what cannot be undone now stays noted."""
        events = []
        for note in self.all():
            if which(note):
                with contextlib.suppress(CardGone, Refused):
                    undo(note)
                    self.drop(note.lease_id, note.key)
                    events.append(CardEvent(note.key, f"{what} {note.lease_id}"))
        return events

    def _save(self) -> None:
        write_whole(self._path, json.dumps([asdict(note) for note in self._notes.values()]))
