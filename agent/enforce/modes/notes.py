"""What a mode did to a card, written down before it does it: after a crash it knows what is its own to undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.state import write_whole


class Notes:
    """Lease -> plain values, in one file of the state folder. A file that cannot be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._notes: dict[str, dict[str, Any]] = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            self._notes = {}

    def get(self, lease_id: str) -> dict[str, Any] | None:
        return self._notes.get(lease_id)

    def all(self) -> dict[str, dict[str, Any]]:
        return dict(self._notes)

    def put(self, lease_id: str, **values: Any) -> None:
        self._notes[lease_id] = values
        write_whole(self._path, json.dumps(self._notes))

    def drop(self, lease_id: str) -> None:
        if self._notes.pop(lease_id, None) is not None:
            write_whole(self._path, json.dumps(self._notes))
